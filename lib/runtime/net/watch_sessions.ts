/**
 * Sends watches over HTTP/2, many on one connection, on Node, Bun and Deno.
 *
 * A session is closed when its last watch has ended. One that does not answer a ping ends its watches, as client-go's
 * does: a connection whose peer has gone is found in {@link PING_MS} to twice that time.
 */
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { nodeHttp2, nodeNet, nodeTls } from '../os/builtins.ts'
import { type AgentPoolOptions, sameMaterial, type TlsMaterial, tlsOptions } from './agent.ts'
import { type ExchangeOptions, NOT_SENT, type Sender, type SenderEvents } from './exchange.ts'
import type { Answer } from './http_body.ts'
import { codeOf } from './network_error.ts'

/** How often a session is pinged. The answer must be there at the next ping. */
const PING_MS = 15_000

/** How long a server that refused HTTP/2 is not asked for it: an update of its proxy may take minutes. */
const REFUSED_MS = 600_000

/** How many bytes of one watch the server sends ahead of its reader, as in client-go. */
const STREAM_WINDOW = 4 * 1024 * 1024

/** How many bytes the server sends ahead on one connection. A watch that is not read must not stop the others. */
const SESSION_WINDOW = 1024 * 1024 * 1024

/** The number of watches on a session until the server has said how many it takes. 100 is kube-apiserver's limit. */
const DEFAULT_STREAMS = 100

type Limits = Pick<ExchangeOptions, 'clock' | 'connectTimeoutMs'>

export class WatchSessions {
  readonly options: AgentPoolOptions
  readonly limits: Limits
  /** Those whose certificate and CA are the current ones. */
  #open: { readonly session: Session; readonly material: TlsMaterial }[] = []
  /** When the server last refused HTTP/2. */
  #refusedMs = -Infinity
  /** How many watches the server took on the last session, which is expected of a new one. */
  maxStreams: number = DEFAULT_STREAMS

  constructor(options: AgentPoolOptions, limits: Limits) {
    this.options = options
    this.limits = limits
  }

  /** Whether the server has refused HTTP/2 in the last ten minutes. */
  get isRefused(): boolean {
    return this.limits.clock.monotonic() - this.#refusedMs < REFUSED_MS
  }

  /** The server has refused HTTP/2 now. */
  noteRefusal(): void {
    this.#refusedMs = this.limits.clock.monotonic()
  }

  /** Returns a request that is sent by `end()`. */
  request(
    path: string,
    headers: Record<string, string | string[]>,
    material: TlsMaterial,
    events: SenderEvents,
  ): Sender {
    // A new certificate or CA needs a new handshake. The server ends the watches of sessions with the old ones.
    this.#open = this.#open.filter((each) => !each.session.isClosed && sameMaterial(each.material, material))
    let session = this.#open.find((each) => !each.session.isFull)?.session
    if (!session) {
      session = new Session(this, material)
      this.#open.push({ session, material })
    }
    return new StreamRequest(session, path, headers, events)
  }

  /** The session of this request gets no more watches. Those that it has are not ended. */
  discard(request: Sender): void {
    if (request instanceof StreamRequest) request.session.retire()
  }
}

class Session {
  readonly #owner: WatchSessions
  readonly #requests = new Set<StreamRequest>()
  readonly #socket: TLSSocket
  #session: ClientHttp2Session | undefined
  /** Set when the server has said it. */
  #maxStreams: number | undefined
  #stopTimer: () => void
  isReady = false
  #isRetired = false
  #isOver = false

  constructor(owner: WatchSessions, material: TlsMaterial) {
    this.#owner = owner
    const { address: { host, port }, serverName = nodeNet().isIP(host) ? undefined : host, insecure } = owner.options
    const socket = this.#socket = nodeTls().connect({
      host,
      port,
      ALPNProtocols: ['h2', 'http/1.1'],
      ...tlsOptions(material, insecure),
      ...(serverName !== undefined && { servername: serverName }),
    })
    socket.once('secureConnect', () => this.#begin())
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(closed()))
    // Not only the deadlines of the requests: each new one would keep alive what never opens.
    const { clock, connectTimeoutMs } = owner.limits
    this.#stopTimer = clock.after(connectTimeoutMs, () => this.#fail(timedOut('it was not opened in time')))
  }

  get isClosed(): boolean {
    // Its `close` event may come later.
    return this.#isOver || this.#socket.destroyed
  }

  get isFull(): boolean {
    return this.#isRetired || this.#requests.size >= (this.#maxStreams ?? this.#owner.maxStreams)
  }

  add(request: StreamRequest): void {
    this.#requests.add(request)
    if (this.isReady) queueMicrotask(() => request.events.onSocket(this.#socket))
  }

  remove(request: StreamRequest): void {
    if (this.#requests.delete(request) && this.#requests.size === 0) this.#fail(closed())
  }

  /** Later watches use other sessions. */
  retire(): void {
    this.#isRetired = true
  }

  start(headers: Record<string, string | string[]>): ClientHttp2Stream {
    return this.#session!.request(headers)
  }

  #begin(): void {
    if (this.#isOver) return
    if (this.#socket.alpnProtocol !== 'h2') return this.#refused()
    const session = this.#session = nodeHttp2().connect(`https://${this.#owner.options.address.authority}`, {
      createConnection: () => this.#socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW },
    })
    session.on('error', (error) => this.#fail(error))
    session.on('close', () => this.#fail(closed()))
    // Open watches go on until the server ends them.
    session.on('goaway', () => this.retire())
    session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW))
    session.on('remoteSettings', ({ maxConcurrentStreams = Infinity }) => {
      this.#maxStreams = this.#owner.maxStreams = maxConcurrentStreams
      if (!this.isReady) this.#ready(session, maxConcurrentStreams)
    })
  }

  /** Sends the requests that the server takes. The others wait for another session. */
  #ready(session: ClientHttp2Session, maxStreams: number): void {
    this.isReady = true
    this.#stopTimer()
    this.#pingLater(session)
    for (const [index, request] of [...this.#requests].entries()) {
      if (index < maxStreams) request.events.onSocket(this.#socket)
      else request.fail(notSent())
    }
  }

  #refused(): void {
    this.#owner.noteRefusal()
    this.#fail(notSent())
  }

  #pingLater(session: ClientHttp2Session): void {
    const { clock } = this.#owner.limits
    let answered = true
    const ping = (): void => {
      if (session.destroyed) return this.#fail(closed())
      if (!answered) {
        return this.#fail(timedOut(`the server did not answer a ping for ${PING_MS / 1000} s`))
      }
      answered = false
      this.#stopTimer = clock.after(PING_MS, ping)
      session.ping((error) => (answered = !error))
    }
    this.#stopTimer = clock.after(PING_MS, ping)
  }

  /** Ends all watches of this connection, and the connection. */
  #fail(error: Error): void {
    if (this.#isOver) return
    // What calls itself HTTP/2 is something else.
    if (!this.isReady && codeOf(error)?.startsWith('ERR_HTTP2')) return this.#refused()
    this.#isOver = true
    this.#stopTimer()
    for (const request of [...this.#requests]) request.fail(error)
    // Deno crashes if a session is destroyed by what one of its own events calls.
    setImmediate(() => {
      this.#session?.destroy()
      this.#socket.destroy()
    })
  }
}

class StreamRequest implements Sender {
  readonly session: Session
  readonly events: SenderEvents
  /** Undefined once they are sent: the stream keeps them. */
  #headers: Record<string, string | string[]> | undefined
  #stream: ClientHttp2Stream | undefined
  reusedSocket: boolean

  constructor(
    session: Session,
    path: string,
    { host, ...headers }: Record<string, string | string[]>,
    events: SenderEvents,
  ) {
    this.session = session
    this.events = events
    this.#headers = { ':method': 'GET', ':path': path, ':authority': host as string, ...headers }
    this.reusedSocket = session.isReady
    session.add(this)
  }

  end(): void {
    const { NGHTTP2_REFUSED_STREAM } = nodeHttp2().constants
    let stream: ClientHttp2Stream
    try {
      stream = this.#stream = this.session.start(this.#headers!)
    } catch (error) {
      // A header is not allowed, or the session takes no more.
      return this.fail(/SESSION/.test(codeOf(error) ?? '') ? notSent() : error as Error)
    }
    this.#headers = undefined
    stream.on('response', (headers) => this.events.onAnswer(answerOf(stream, headers)))
    stream.on('error', (error) => this.fail(stream.rstCode === NGHTTP2_REFUSED_STREAM ? notSent() : error))
    stream.on('close', () => {
      this.session.remove(this)
      this.events.onClose()
    })
  }

  /** Reports a failure. Once there is an answer, its body fails, too. */
  fail(error: Error): void {
    this.events.onError(error)
  }

  destroy(): void {
    this.#stream?.close(nodeHttp2().constants.NGHTTP2_CANCEL)
    this.session.remove(this)
  }
}

/** Returns the stream as the answer of HTTP/1.1. */
function answerOf(stream: ClientHttp2Stream, headers: IncomingHttpHeaders): Answer {
  const statusCode = headers[':status']
  delete headers[':status']
  return Object.defineProperties(Object.assign(stream, { statusCode, headers }) as ClientHttp2Stream & Answer, COMPLETE)
}

const COMPLETE: PropertyDescriptorMap & ThisType<ClientHttp2Stream> = {
  // A stream that was reset also ends, with a code.
  complete: {
    get() {
      return this.readableEnded && this.rstCode === 0
    },
  },
}

function notSent(): Error {
  return Object.assign(new Error('the server takes no more watches on this connection'), { code: NOT_SENT })
}

function timedOut(message: string): Error {
  return Object.assign(new Error(message), { code: 'ETIMEDOUT' })
}

function closed(): Error {
  return Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' })
}
