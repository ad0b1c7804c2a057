package nexmark

import "strconv"

// Shape is how an event is laid out in JSON.
type Shape int8

const (
	// Combined puts every event into one stream: its number and three objects of
	// which two are null.
	Combined Shape = iota
	// Flat has the fields of the event's kind alone.
	Flat
)

// AppendJSON appends event n as one JSON object.
func (g *Generator) AppendJSON(dst []byte, n int64, s Shape) []byte {
	var e Event
	g.Event(n, &e)
	return e.AppendJSON(dst, s)
}

// AppendJSON appends the event as one JSON object. Its texts need no escape.
func (e *Event) AppendJSON(dst []byte, s Shape) []byte {
	if s == Combined {
		dst = append(dst, [...]string{
			`{"event_type":0,"person":`,
			`{"event_type":1,"person":null,"auction":`,
			`{"event_type":2,"person":null,"auction":null,"bid":`}[e.Kind]...)
	}
	switch e.Kind {
	case Person:
		dst = num(dst, `{"id":`, e.ID)
		dst = str(dst, `,"name":"`, e.Name)
		dst = str(dst, `,"email_address":"`, e.Email)
		dst = str(dst, `,"credit_card":"`, e.Card)
		dst = str(dst, `,"city":"`, e.City)
		dst = str(dst, `,"state":"`, e.State)
	case Auction:
		dst = num(dst, `{"id":`, e.ID)
		dst = str(dst, `,"item_name":"`, e.Item)
		dst = str(dst, `,"description":"`, e.Description)
		dst = num(dst, `,"initial_bid":`, e.InitialBid)
		dst = num(dst, `,"reserve":`, e.Reserve)
	default:
		dst = num(dst, `{"auction":`, e.Auction)
		dst = num(dst, `,"bidder":`, e.Bidder)
		dst = num(dst, `,"price":`, e.Price)
		dst = str(dst, `,"channel":"`, e.Channel)
		dst = str(dst, `,"url":"`, e.URL)
	}
	dst = append(dst, `,"date_time":"`...)
	dst = appendTime(dst, e.Time)
	if e.Kind == Auction {
		dst = append(dst, `","expires":"`...)
		dst = appendTime(dst, e.Expires)
		dst = num(dst, `","seller":`, e.Seller)
		dst = num(dst, `,"category":`, e.Cate)
		dst = append(dst, `,"extra":"`...)
	} else {
		dst = append(dst, `","extra":"`...)
	}
	dst = append(dst, e.Extra...)
	dst = append(dst, `"}`...)
	if s == Combined {
		dst = append(dst, [...]string{`,"auction":null,"bid":null}`, `,"bid":null}`, `}`}[e.Kind]...)
	}
	return dst
}

func num(dst []byte, key string, x int64) []byte {
	return strconv.AppendInt(append(dst, key...), x, 10)
}

func str(dst []byte, key string, s []byte) []byte {
	return append(append(append(dst, key...), s...), '"')
}

// appendTime appends ms as YYYY-MM-DD HH:MM:SS.mmm.
func appendTime(dst []byte, ms int64) []byte {
	day, ms := floorDiv(ms, 86_400_000)
	y, m, d := civil(day)
	dst = append(dst, '0'+byte(y/1000%10), '0'+byte(y/100%10), '0'+byte(y/10%10), '0'+byte(y%10), '-')
	dst = append(dst, '0'+byte(m/10), '0'+byte(m%10), '-', '0'+byte(d/10), '0'+byte(d%10), ' ')
	h, min, s := ms/3_600_000, ms/60_000%60, ms/1000%60
	dst = append(dst, '0'+byte(h/10), '0'+byte(h%10), ':', '0'+byte(min/10), '0'+byte(min%10), ':')
	return append(dst, '0'+byte(s/10), '0'+byte(s%10), '.', '0'+byte(ms/100%10), '0'+byte(ms/10%10), '0'+byte(ms%10))
}

func floorDiv(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r < 0 {
		q, r = q-1, r+b
	}
	return q, r
}

// civil returns the Gregorian date of a day since 1970-01-01.
func civil(day int64) (y, m, d int64) {
	day += 719_468
	era, doe := floorDiv(day, 146_097)
	yoe := (doe - doe/1460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d = doy - (153*mp+2)/5 + 1
	m = mp + 3
	if m > 12 {
		m -= 12
	}
	y = yoe + era*400
	if m <= 2 {
		y++
	}
	return y, m, d
}
