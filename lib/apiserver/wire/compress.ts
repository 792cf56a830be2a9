/** Compresses large answers for clients that accept it, with the limit of the real server. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import { builtins } from '../../runtime/os/builtins.ts'
import { TextBody } from './respond.ts'

const MIN_CHARACTERS = 128 * 1024
/** The fastest: a larger one saves little on a loopback connection. */
const LEVEL = 1

export function compressed(response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse {
  const { body } = response
  if (!(body instanceof TextBody) || body.content.length <= MIN_CHARACTERS) return response
  if (!(headers['accept-encoding'] ?? '').split(',').some((each) => each.trim() === 'gzip')) return response
  const vary = response.headers['vary']
  return {
    ...response,
    headers: {
      ...response.headers,
      'content-encoding': 'gzip',
      vary: vary ? `${vary}, Accept-Encoding` : 'Accept-Encoding',
    },
    body: new GzipBody(body.content),
  }
}

/** Compresses outside the event loop when it is read. */
class GzipBody implements HttpBody {
  readonly #content: string
  #isCancelled = false

  constructor(content: string) {
    this.#content = content
  }

  text(): Promise<string> {
    return Promise.resolve(this.#content)
  }

  cancel(): void {
    this.#isCancelled = true
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const bytes = await new Promise<Uint8Array>((resolve, reject) => {
      builtins.zlib().gzip(this.#content, { level: LEVEL }, (error, result) => error ? reject(error) : resolve(result))
    })
    if (!this.#isCancelled) yield bytes
  }
}
