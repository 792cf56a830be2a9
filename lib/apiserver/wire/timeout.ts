/** Checks the `timeout` of a request, a Go duration such as `32s`. It limits nothing: requests end at once. */
import { badRequest } from '../model/status.ts'

/** Throws 400 for a duration that Go cannot parse. */
export function checkTimeout(query: URLSearchParams): void {
  const given = query.get('timeout')
  const reason = given && durationError(given)
  if (reason) {
    throw badRequest(`invalid timeout specified in the request URL - time: ${reason} ${JSON.stringify(given)}`)
  }
}

function durationError(text: string): string {
  if (/^[+-]?0$/.test(text)) return ''
  let rest = text.replace(/^[+-]/, '')
  if (rest === '') return 'invalid duration'
  while (rest !== '') {
    const number = /^(?:\d+(?:\.\d*)?|\.\d+)/.exec(rest)
    if (!number) return 'invalid duration'
    rest = rest.slice(number[0].length)
    const unit = /^[^.\d]+/.exec(rest)?.[0]
    if (!unit) return 'missing unit in duration'
    if (!UNITS.includes(unit)) return `unknown unit ${JSON.stringify(unit)} in duration`
    rest = rest.slice(unit.length)
  }
  return ''
}

const UNITS: readonly string[] = ['ns', 'us', '\u00b5s', '\u03bcs', 'ms', 's', 'm', 'h']
