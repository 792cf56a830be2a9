/** Adds and compares amounts of resources exactly. */
import { at, isObject, type Json, type JsonObject, list } from '../../model/json.ts'
import { canonicalQuantity, nanosOf as parsed } from '../../model/quantities.ts'

/** Quantities in canonical form by the names of their resources. */
export type Amounts = Readonly<Record<string, string>>

export function amounts(value: Json | undefined): Amounts {
  return isObject(value) ? value as Amounts : {}
}

const NANO = 10n ** 9n

/** Returns a quantity in billionths; a missing one is zero. */
export function nanosOf(quantity = '0'): bigint {
  return parsed(quantity)!
}

/** Returns the sum of two quantities in the form of the first one, unless that is zero. */
function sum(a: string, b: string): string {
  const nanos = nanosOf(a) + nanosOf(b)
  const bytes = nanos / NANO
  const isBinary = (nanosOf(a) === 0n ? b : a).endsWith('i') && nanos % NANO === 0n && bytes >= 1024n
  if (!isBinary) return canonicalQuantity(`${nanos}n`)!
  return bytes % 1024n === 0n ? canonicalQuantity(`${bytes / 1024n}Ki`)! : String(bytes)
}

export function plus(a: Amounts, b: Amounts): Amounts {
  return { ...a, ...mapped(b, (amount, name) => a[name] === undefined ? amount : sum(a[name], amount)) }
}

/** Subtracts amounts; what would be less than zero is zero. */
export function minus(a: Amounts, b: Amounts): Amounts {
  return mapped(a, (amount, name) => {
    const [own, other] = [nanosOf(amount), b[name] ?? '0']
    return own <= nanosOf(other) ? '0' : sum(amount, `-${other}`)
  })
}

function max(a: Amounts, b: Amounts): Amounts {
  return { ...a, ...mapped(b, (amount, name) => nanosOf(amount) > nanosOf(a[name]) ? amount : a[name] ?? amount) }
}

function mapped(all: Amounts, change: (amount: string, name: string) => string): Amounts {
  return Object.fromEntries(Object.entries(all).map(([name, amount]) => [name, change(amount, name)]))
}

/** Returns what a pod requests, or is limited to: its containers together, or the largest step of its start. */
export function podAmounts(spec: JsonObject, field: 'requests' | 'limits'): Amounts {
  const own = (container: JsonObject): Amounts => amounts(at(container, 'resources', field))
  let all = list(spec, 'containers').map(own).reduce(plus, {})
  let [sidecars, largest]: Amounts[] = [{}, {}]
  for (const container of list(spec, 'initContainers')) {
    const isSidecar = container['restartPolicy'] === 'Always'
    const step = plus(own(container), sidecars!)
    if (isSidecar) [all, sidecars] = [plus(all, own(container)), step]
    largest = max(largest!, step)
  }
  return { ...max(all, largest!), ...amounts(at(spec, 'resources', field)) }
}
