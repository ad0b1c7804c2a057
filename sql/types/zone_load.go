package types

import (
	"encoding/binary"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the binary runs where no tz database is installed
)

// zoneIndex finds a zone's canonical name by its lower-case one.
var zoneIndex = sync.OnceValue(func() map[string]string {
	m := make(map[string]string, 640)
	for _, n := range strings.Fields(zoneNames) {
		m[lowerName(n)] = n
	}
	return m
})

// ZoneNames returns the names of all time zones.
func ZoneNames() []string { return strings.Fields(zoneNames) }

var zoneCache sync.Map // lower-case name → *time.Location

// LoadZone returns the time zone of a name in any letter case: one of the tz
// database's, or one of POSIX's like UTC+3 or EST5 (whose sign counts west).
func LoadZone(name string) (*time.Location, bool) {
	low := lowerName(name)
	if loc, ok := zoneCache.Load(low); ok {
		return loc.(*time.Location), true
	}
	canon, ok := zoneIndex()[low]
	if !ok {
		loc, ok := posixZone(low)
		if !ok {
			return nil, false
		}
		zoneCache.Store(strings.Clone(low), loc)
		return loc, true
	}
	loc, err := time.LoadLocation(canon)
	if err != nil {
		return nil, false
	}
	zoneCache.Store(low, loc)
	return loc, true
}

// fixedZone tells whether loc never changed its offset.
func fixedZone(loc *time.Location) bool {
	t := time.Unix(-1<<40, 0).In(loc)
	_, off := t.Zone()
	for {
		_, end := t.ZoneBounds()
		if end.IsZero() {
			return true
		}
		if _, o := end.Zone(); o != off {
			return false
		}
		t = end
	}
}

// maxZoneSteps bounds the search for an abbreviation.
const maxZoneSteps = 400

// abbrevOffset returns the seconds east that an abbreviation stood for in loc at
// the moment us or last before it, else first after it; dflt if never.
func abbrevOffset(abbrev string, us int64, loc *time.Location, dflt int) int {
	at := time.Unix(floorDiv(us, MicrosPerSecond), 0).In(loc)
	t := at
	for range maxZoneSteps {
		name, off := t.Zone()
		if strings.EqualFold(name, abbrev) {
			return off
		}
		start, _ := t.ZoneBounds()
		if start.IsZero() {
			break
		}
		t = start.Add(-time.Second)
	}
	t = at
	for range maxZoneSteps {
		_, end := t.ZoneBounds()
		if end.IsZero() {
			break
		}
		if name, off := end.Zone(); strings.EqualFold(name, abbrev) {
			return off
		}
		t = end
	}
	return dflt
}

// posixReader reads a time zone in POSIX's form: a name, the hours west of UTC,
// and perhaps the same for summer and when it begins and ends.
type posixReader struct{ s string }

// usRules are the summer rules where a zone states none.
const usRules = ",m3.2.0,m11.1.0"

func posixZone(low string) (*time.Location, bool) {
	r := posixReader{low}
	std, ok := r.name()
	if !ok {
		return nil, false
	}
	off, ok := r.offset()
	if !ok {
		return nil, false
	}
	if r.s == "" {
		return time.FixedZone(strings.ToUpper(strings.Clone(std)), -off), true
	}
	if _, ok = r.name(); !ok {
		return nil, false
	}
	summer := off - 3600
	if r.s != "" && r.s[0] != ',' {
		if summer, ok = r.offset(); !ok || r.s != "" && r.s[0] != ',' {
			return nil, false
		}
	}
	if r.s == "" {
		r.s = usRules
	}
	return loadRules(off, summer, strings.ToUpper(r.s))
}

// name reads letters, or anything between < and >.
func (r *posixReader) name() (string, bool) {
	i := 0
	if strings.HasPrefix(r.s, "<") {
		if i = strings.IndexByte(r.s, '>'); i < 2 {
			return "", false
		}
		n := r.s[1:i]
		r.s = r.s[i+1:]
		return n, true
	}
	for i < len(r.s) && !isDigit(r.s[i]) && strings.IndexByte(",-+", r.s[i]) < 0 {
		i++
	}
	n := r.s[:i]
	r.s = r.s[i:]
	return n, i > 0
}

// offset reads [+-]hh[:mm[:ss]] as seconds.
func (r *posixReader) offset() (int, bool) {
	sign := 1
	if r.s != "" && (r.s[0] == '-' || r.s[0] == '+') {
		if r.s[0] == '-' {
			sign = -1
		}
		r.s = r.s[1:]
	}
	off := 0
	for unit := 3600; unit > 0; unit /= 60 {
		n, rest, f := number(r.s)
		if f != faultNone || n > 167 || unit == 60 && n > 59 || unit == 1 && n > 60 {
			return 0, false
		}
		off += n * unit
		r.s = rest
		if unit == 1 || r.s == "" || r.s[0] != ':' {
			break
		}
		r.s = r.s[1:]
	}
	return sign * off, true
}

// loadRules makes a zone of two offsets, in seconds west, and the rules between
// them, through the form of a tz file: nothing else reads such rules.
func loadRules(std, summer int, rules string) (*time.Location, bool) {
	header := func(times, zones, chars uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, times, zones, chars} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	zone := binary.BigEndian.AppendUint32(nil, uint32(int32(-std)))
	zone = append(zone, 0, 0, 'S', 'T', 'D', 0)
	first := header(0, 1, 4)
	b := append(first, zone...)
	b = append(b, header(1, 1, 4)...)
	longAgo := int64(-1) << 59
	b = binary.BigEndian.AppendUint64(b, uint64(longAgo))
	b = append(append(b, 0), zone...)
	b = append(b, "\n<STD>"+hms(std)+"<DST>"+hms(summer)+rules+"\n"...)
	loc, err := time.LoadLocationFromTZData("STDDST", b)
	return loc, err == nil
}

func hms(sec int) string {
	sign := ""
	if sec < 0 {
		sign, sec = "-", -sec
	}
	return sign + strconv.Itoa(sec/3600) + ":" + strconv.Itoa(sec/60%60) + ":" + strconv.Itoa(sec%60)
}
