/** The formats of strings in the schemas of definitions. */
import { ipv6 } from '../../core/ip.ts'
import { isSubdomain, UUID } from '../model/names.ts'
import { isDate, timeMs } from '../model/times.ts'

const DATE_TIME = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})?$/
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)$/
const HOSTNAME =
  /^([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9])(\.([a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]{0,61}[a-zA-Z0-9]))*\.?$/
const DURATION =
  /^[+-]?(\d+(\.\d*)?|\.\d+)\s*(ns|us|µs|ms|s|m|h|d|w|nanoseconds?|seconds?|minutes?|hours?|days?|weeks?)/

const isIpv6 = (text: string): boolean => ipv6(text) !== undefined

const CHECKS: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => DATE_TIME.test(text) && !Number.isNaN(timeMs(text)),
  date: isDate,
  duration: (text) => DURATION.test(text),
  uuid: (text) => UUID.test(text),
  uuid3: (text) => UUID.test(text),
  uuid4: (text) => UUID.test(text),
  uuid5: (text) => UUID.test(text),
  byte: (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
  email: (text) => /^[^@\s<>]+@[^@\s<>]+$/.test(text),
  hostname: (text) => text.length <= 255 && HOSTNAME.test(text),
  ipv4: (text) => IPV4.test(text),
  ipv6: isIpv6,
  cidr: (text) => /^([^/]+)\/(\d{1,3})$/.test(text) && (IPV4.test(text.split('/')[0]!) || isIpv6(text.split('/')[0]!)),
  mac: (text) => /^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$/.test(text),
  uri: (text) => URL.canParse(text),
  'k8s-short-name': (text) => text.length <= 63 && !text.includes('.') && isSubdomain(text),
  'k8s-long-name': (text) => isSubdomain(text),
}

/** Returns whether a text violates a format. Unknown formats are ignored, as on the real server. */
export function breaksFormat(format: string, text: string): boolean {
  const check = Object.hasOwn(CHECKS, format) ? CHECKS[format] : undefined
  return check !== undefined && !check(text)
}
