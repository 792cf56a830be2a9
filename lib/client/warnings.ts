/** What the server warns of: deprecated versions, unknown fields, settings that do not do what they seem to. */
import type { Transport } from '../core/transport.ts'
import type { Log } from '../observe/log.ts'

/** Above this many texts the oldest are forgotten, and told once more when they come again. */
const MAX_TEXTS = 1000

/** A transport that tells the warnings of its answers to a log: each text once. */
export function loggingWarnings(transport: Transport, log: Log): Transport {
  const told = new Set<string>()
  return async (request) => {
    const response = await transport(request)
    const header = response.headers['warning']
    if (header === undefined) return response
    for (const text of warningTexts(header)) {
      if (told.has(text)) continue
      if (told.size >= MAX_TEXTS) told.delete(told.keys().next().value!)
      told.add(text)
      log.warn(`The API server warns: ${text}`, { method: request.method, path: request.path.split('?', 1)[0] })
    }
    return response
  }
}

/**
 * The texts of a Warning header with code 299, the one that API servers use. Other codes are of caches on the way.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7234#section-5.5
 */
export function warningTexts(header: string): readonly string[] {
  const texts: string[] = []
  for (const [, code, quoted] of header.matchAll(/(\d{3}) [^\s"]+ "((?:[^"\\]|\\.)*)"(?: "[^"]*")?/gs)) {
    const text = quoted!.replace(/\\(.)/gs, '$1').trim()
    if (code === '299' && text !== '') texts.push(text)
  }
  return texts
}
