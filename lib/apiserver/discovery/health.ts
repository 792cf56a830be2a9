/** Answers /livez, /readyz and /healthz, and their single checks. */
import type { HttpResponse } from '../../core/transport.ts'
import { answerPageNotFound, answerText, NO_SNIFFING, PLAIN } from '../wire/respond.ts'
import type { Call } from '../model/routes.ts'

const LIVE: readonly string[] = ['ping', 'log', 'etcd']

/** The checks of a real server that apply here. `etcd` is the store. */
export const CHECKS: Readonly<Record<string, readonly string[]>> = {
  '/healthz': LIVE,
  '/livez': LIVE,
  '/readyz': [...LIVE, 'etcd-readiness', 'informer-sync', 'shutdown'],
}

/** Answers a health path, for every method; undefined for other paths. The server is always healthy. */
export function answerHealth(call: Call, path: string): HttpResponse | undefined {
  const [, name = '', ...rest] = path.split('/')
  const checks = CHECKS[`/${name}`]
  if (!checks) return undefined
  if (rest.length === 0) return answerAll(call, name, checks)
  // A single check has no details.
  return checks.includes(rest.join('/')) ? answerText(200, 'ok') : answerPageNotFound()
}

function answerAll({ query }: Call, name: string, checks: readonly string[]): HttpResponse {
  if (!query.has('verbose')) return answerText(200, 'ok', PLAIN, NO_SNIFFING)
  const excluded = query.getAll('exclude')
  const unknown = excluded.filter((each) => !checks.includes(each))
  const lines = [
    ...checks.map((check) => `[+]${check} ${excluded.includes(check) ? 'excluded: ok' : 'ok'}`),
    ...(unknown.length > 0
      ? [`warn: some health checks cannot be excluded: no matches for ${unknown.map((each) => `"${each}"`).join(', ')}`]
      : []),
    `${name} check passed`,
  ]
  return answerText(200, `${lines.join('\n')}\n`, PLAIN, NO_SNIFFING)
}
