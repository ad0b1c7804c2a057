package types

// isoTime is a date and time in the usual form.
type isoTime struct {
	days    int64
	micros  int64
	off     int // seconds east
	hasTime bool
	hasOff  bool
}

// two reads two digits at i, -1 where there are none.
func two(s string, i int) int {
	if i+2 > len(s) || !isDigit(s[i]) || !isDigit(s[i+1]) {
		return -1
	}
	return int(s[i]-'0')*10 + int(s[i+1]-'0')
}

// parseISO reads YYYY-MM-DD, then perhaps a blank or T and HH:MM:SS[.ffffff],
// then perhaps Z, +hh or +hh:mm. It is a short cut: whatever it does not accept
// goes through the general reader, which also makes the errors.
func parseISO(s string) (t isoTime, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return t, false
	}
	c, y, m, d := two(s, 0), two(s, 2), two(s, 5), two(s, 8)
	if c|y|m|d < 0 || m == 0 || m > 12 || d == 0 {
		return t, false
	}
	y += c * 100
	if y == 0 || d > DaysIn(y, m) {
		return t, false
	}
	t.days = Days(y, m, d)
	if len(s) == 10 {
		return t, true
	}
	if s[10] != ' ' && s[10] != 'T' {
		return t, false
	}
	rest, ok := t.clock(s[11:])
	if !ok {
		return t, false
	}
	return t, rest == "" || t.zone(rest)
}

// clock reads HH:MM:SS[.ffffff] and returns what follows.
func (t *isoTime) clock(s string) (rest string, ok bool) {
	h, m, sec := two(s, 0), two(s, 3), two(s, 6)
	if h|m|sec < 0 || s[2] != ':' || s[5] != ':' || h > 23 || m > 59 || sec > 59 {
		return s, false
	}
	us := int64(h*3600+m*60+sec) * MicrosPerSecond
	s = s[8:]
	if s != "" && s[0] == '.' {
		i, scale := 1, int64(MicrosPerSecond/10)
		for i < len(s) && isDigit(s[i]) {
			us += int64(s[i]-'0') * scale
			scale /= 10
			i++
		}
		if i == 1 || i > 7 {
			return s, false
		}
		s = s[i:]
	}
	t.micros, t.hasTime = us, true
	return s, true
}

// zone reads an offset that ends the text.
func (t *isoTime) zone(s string) bool {
	t.hasOff = true
	if s == "Z" {
		return true
	}
	if s[0] != '+' && s[0] != '-' {
		return false
	}
	h, m := two(s, 1), 0
	switch {
	case len(s) == 6 && s[3] == ':':
		m = two(s, 4)
	case len(s) != 3:
		return false
	}
	if h|m < 0 || h > 15 || m > 59 {
		return false
	}
	t.off = h*3600 + m*60
	if s[0] == '-' {
		t.off = -t.off
	}
	return true
}
