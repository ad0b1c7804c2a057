package expr

// addAll fills the table of functions, family by family.
func addAll(t *table) {
	addArithmetic(t)
	addComparisons(t)
	addTimeOperators(t)
	addTime(t)
	addText(t)
	addPatterns(t)
	addBinary(t)
	addArrays(t)
	addFormats(t)
	addMath(t)
	addMisc(t)
	addJSON(t)
	addSystem(t)
}
