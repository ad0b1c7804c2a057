// Package decimal is the engine's numeric: an exact decimal number of up to 36
// digits in 16 bytes without a pointer, with PostgreSQL's rules for scale,
// rounding, special values and text.
//
// Life of a value: Parse, FromInt64, FromBinary and FromParts make one, the
// operations return new ones, AppendText and AppendBinary print it. Accumulator
// sums many of them exactly, and takes them back.
//
// Invariants:
//
//	D1  The coefficient has at most MaxDigits digits, the scale is 0 to MaxScale.
//	    An operation whose exact result does not fit returns SQLSTATE 22003; it
//	    never drops digits. Only results that are not exact in the first place
//	    (quotients, averages, roots, logarithms, powers) may get a shorter scale
//	    than PostgreSQL's, and never fewer than its 16 significant digits as long as
//	    the scale allows it.
//	D2  The coefficient of zero has no sign, and special values have coefficient
//	    zero: two Decimals of one value and one scale are equal as structs.
//	D3  Rounding is half away from zero, everywhere.
//	D4  NaN equals itself and is above everything, Infinity above every finite
//	    number, -Infinity below.
//	D5  Integers of 128 bits do the work; math/big is reached only where an
//	    intermediate result is longer.
package decimal
