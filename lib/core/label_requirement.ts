/** Evaluates requirements of label selectors; the parsers of the client and the embedded API differ only in errors. */

/** One parsed requirement of a label selector. */
export interface LabelRequirement {
  readonly key: string
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt'
  readonly values: readonly string[]
}

/** Returns the integer of 64 bits that a value is, for `gt` and `lt`; undefined for any other text. */
export function int64(value: string): bigint | undefined {
  const integer = /^-?\d+$/.test(value) ? BigInt(value) : undefined
  return integer === undefined || integer !== BigInt.asIntN(64, integer) ? undefined : integer
}

/**
 * Tests labels against a requirement as apimachinery does.
 *
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/labels#Requirement.Matches
 */
export function satisfies(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const value = labels && Object.hasOwn(labels, key) ? labels[key] : undefined
  switch (operator) {
    case 'exists':
      return value !== undefined
    case 'absent':
      return value === undefined
    case 'in':
      return value !== undefined && values.includes(value)
    // A missing label satisfies != and notin.
    case 'notin':
      return value === undefined || !values.includes(value)
    case 'gt':
    case 'lt': {
      const [actual, limit] = [value, values[0]].map((each) => int64(each ?? ''))
      return actual !== undefined && (operator === 'gt' ? actual > limit! : actual < limit!)
    }
  }
}
