/** The generation of the feed's first object, from which all are counted: always nine digits. */
export const FIRST_GENERATION = 100_000_000
