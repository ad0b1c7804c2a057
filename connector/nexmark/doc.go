// Package nexmark is the source of the Nexmark benchmark: an auction site's
// persons, auctions and bids, in the proportions, skew and sizes of the
// benchmark's reference generator.
//
// Life of a generator: New checks a Config and builds the tables that belong to
// its seed; Event fills an Event with event n; AppendJSON prints it. A source
// reads the events of its splits: split i of s has the events i, i+s, i+2s, …; its
// offset is the number of events read.
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
