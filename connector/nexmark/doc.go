// Package nexmark is the source of the Nexmark benchmark: an auction site's
// persons, auctions and bids, in the proportions, skew and sizes of the
// benchmark's reference generator.
//
// Life of a generator: New checks a Config and builds the tables that belong to
// its seed; Event fills an Event with event n; AppendJSON prints it. A source
// reads the events of its splits: split i of s has the events i, i+s, i+2s, …; its
// offset is the number of events read.
//
// Options: kind = 'all' | 'person' | 'auction' | 'bid', seed, splits, base_time,
// rate (events in a second of event time), ooo_group, number_of_events (of all
// kinds; 0: no end), rows_per_second (events of all kinds and splits in a second of
// the clock; 0: as fast as they are read), and what Config lists: person_share,
// auction_share, bid_share, hot_auction_ratio, hot_bidder_ratio, hot_seller_ratio,
// in_flight_auctions, active_people, person_bytes, auction_bytes, bid_bytes.
//
// The columns of kind 'all' are event_type (0, 1, 2), the structs person, auction
// and bid, of which one is not NULL, and date_time.
//
// Invariants:
//
//	N1  Event n is a pure function of the Config and n: splits, restarts and
//	    generators on other machines give the same bytes. No floating-point
//	    operation is used whose result differs between machines.
//	N2  Draws are made in this order. Person: first and last name, e-mail, card,
//	    city, state, extra. Auction: is the seller hot, seller, category, initial
//	    bid, expiry, item name, description, reserve, extra. Bid: is the auction
//	    hot, auction, is the bidder hot, bidder, price, is the channel hot, channel,
//	    extra. A change of the order is a change of the data.
//	N3  Event time grows with n by 1/rate seconds, but within groups of ooo_group
//	    events it is shuffled.
package nexmark
