/** One question to a server that may not be up yet: does it answer 200? */
import { request as requestPlain } from 'node:http'
import { request as requestTls } from 'node:https'

export interface ProbeTls {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
}

/** True for a 200. False for everything else, for whatever reason: this is for asking again. */
export function probe(url: string, tls: ProbeTls): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false as const, timeout: PROBE_TIMEOUT_MS }
    const sent = url.startsWith('https:') ? requestTls(url, { ...options, ...tls }) : requestPlain(url, options)
    sent.once('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    sent.once('error', () => resolve(false))
    sent.once('timeout', () => sent.destroy())
    sent.end()
  })
}

const PROBE_TIMEOUT_MS = 5000
