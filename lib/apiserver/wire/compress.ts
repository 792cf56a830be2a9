/** Compresses large answers for clients that accept it, with the limit of the real server. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import { nodeZlib } from '../../runtime/os/builtins.ts'
import { ListBody } from './list_body.ts'
import { TextBody } from './respond.ts'

const MIN_CHARACTERS = 128 * 1024
/** The fastest: a larger one saves little on a loopback connection. */
const LEVEL = 1

export async function compressed(
  response: HttpResponse,
  headers: Readonly<Record<string, string>>,
): Promise<HttpResponse> {
  const { body } = response
  if (!(headers['accept-encoding'] ?? '').split(',').some((each) => each.trim() === 'gzip')) return response
  const isLarge = body instanceof ListBody
    ? await body.isLongerThan(MIN_CHARACTERS)
    : body instanceof TextBody && body.content.length > MIN_CHARACTERS
  if (!isLarge) return response
  const vary = response.headers['vary']
  return {
    ...response,
    headers: {
      ...response.headers,
      'content-encoding': 'gzip',
      vary: vary ? `${vary}, Accept-Encoding` : 'Accept-Encoding',
    },
    body: new GzipBody(body),
  }
}

/** Compresses outside the event loop, as fast as it is read. */
class GzipBody implements HttpBody {
  readonly #body: HttpBody

  constructor(body: HttpBody) {
    this.#body = body
  }

  text(): Promise<string> {
    return this.#body.text()
  }

  cancel(): void {
    this.#body.cancel()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const gzip = nodeZlib().createGzip({ level: LEVEL })
    const ready: Uint8Array[] = []
    gzip.on('data', (chunk: Uint8Array) => void ready.push(chunk))
    try {
      for await (const chunk of this.#body) {
        await new Promise((resolve) => gzip.write(chunk, resolve))
        yield* ready.splice(0)
      }
      await new Promise<void>((resolve) => gzip.on('end', resolve).end())
      yield* ready
    } finally {
      gzip.destroy()
    }
  }
}
