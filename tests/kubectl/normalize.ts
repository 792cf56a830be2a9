/** Replaces what differs from run to run in the output of kubectl. */

/** A pattern with the `g` flag, and what replaces its matches. */
export type Replacement = readonly [RegExp, string]

/** Where a text comes from. */
export interface Origin {
  readonly server: string
  /** The name of the user that the commands run as. */
  readonly user: string
}

/** In this order: a later pattern sees the result of the earlier ones. */
const VOLATILE: readonly Replacement[] = [
  // The prefix of klog: severity and date, time, process.
  [/^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ /gm, '$1<klog> '],
  // The timeout of `kubectl wait` can end while its watch is being opened, or just after that.
  [/^E<klog> reflector\.go:\d+\] "Failed to watch" err="context deadline exceeded".*\n/gm, ''],
  [/^I<klog> reflector\.go:\d+\] "Warning: watch ended with error".* err="very short watch:.*\n/gm, ''],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g, '<token>'],
  [/(["']?resourceVersion["']?[:=] ?"?)\d+/g, '$1<version>'],
  [/(Resource Version: +)\d+/g, '$1<version>'],
  // Temporary files of diff and edit.
  [/\/tmp\/(LIVE|MERGED|kubectl-edit)-\d+/g, '/tmp/$1'],
  // RFC 3339 and RFC 1123.
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)?( UTC)?/g, '<time>'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>'],
  [/\b10\.96\.\d+\.\d+\b/g, '<ip>'],
  // The default range of node ports.
  [/\b3[0-2]\d{3}\b/g, '<port>'],
  // Ages and durations of some minutes, as in tables and descriptions.
  [/(?<=^|[\s(])(<invalid>|(\d+m)?\d+(\.\d+)?s|[2-9]m)(?=$|[\s)])/gm, '<age>'],
  // Columns are as wide as what was replaced in them.
  [/(?<=\S)[ \t]{2,}/g, '  '],
  [/[ \t]+$/gm, ''],
  [/-{4,}/g, '----'],
  // A controller of kube-apiserver reports a Service whose IPAddress its cache does not have yet.
  [/^.*\bClusterIPNotAllocated\b.*\n/gm, ''],
  // With `-o name`: the name that it gives its event is the Service's and a time.
  [/^event\/[a-z-]+\.[0-9a-f]{16}\n/gm, ''],
  [/^Events:\n +Type +Reason +Age +From +Message\n[ -]+\n(?! )/gm, 'Events:  <none>\n'],
]

/** Returns the text without the server's address, ages, uids, versions, times, addresses and tokens. */
export function normalize(text: string, { server, user }: Origin, replace: readonly Replacement[] = []): string {
  const host = server.replace(/^https:\/\//, '')
  let result = text.replaceAll(server, '<server>').replaceAll(host, '<host>').replaceAll(user, '<user>')
  for (const [pattern, by] of [...replace, ...VOLATILE]) result = result.replace(pattern, by)
  return result
}
