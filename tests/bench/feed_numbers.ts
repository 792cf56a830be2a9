/** Of the first object that the feed sends; all that it sends are counted on from there. Nine digits, however many there are. */
export const FIRST_GENERATION = 100_000_000
