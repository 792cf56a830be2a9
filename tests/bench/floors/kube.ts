/**
 * A minimal client for the floors, without kubeloop.
 *
 * Persistent connections to the API server over node:https, and the lines of a watch, each parsed once. An error ends
 * the program.
 */
import { readFileSync } from 'node:fs'
import https from 'node:https'

export interface Foo {
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly generation?: number
    managedFields?: unknown
  }
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: Foo
}

export const FOOS = '/apis/bench.example.com/v1/namespaces/default/foos'

/** `file`: `{ server, token, ca }`. */
export function connect(file: string | undefined) {
  const { server, token, ca } = JSON.parse(readFileSync(file!, 'utf8')) as { server: string; token: string; ca: string }
  const { hostname: host, port } = new URL(server)
  const agent = new https.Agent({ keepAlive: true, ca, servername: '' })
  const authorization = `Bearer ${token}`
  return {
    request: (method: string, path: string, body?: object, contentType: string = 'application/json') =>
      new Promise<string>((resolve, reject) => {
        const text = body && JSON.stringify(body)
        const about = text === undefined
          ? {}
          : { 'content-type': contentType, 'content-length': Buffer.byteLength(text) }
        const headers = { authorization, ...about }
        const request = https.request({ agent, host, port, method, path, headers }, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const answer = Buffer.concat(chunks).toString('utf8')
            if (response.statusCode! < 300) resolve(answer)
            else reject(new Error(`${method} ${path}: ${response.statusCode} ${answer}`))
          })
        })
        request.on('error', reject)
        request.end(text)
      }),

    /**
     * Lists and watches into a Map until the process ends. Calls `onEvent` for each object. Resolves when all existing
     * objects have been received.
     */
    keep: (path: string, kept: Map<string, Foo>, onEvent?: (event: WatchEvent) => void) =>
      new Promise<void>((resolve, reject) => {
        const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
        const request = https.get(
          { agent, host, port, path: `${path}?${query}`, headers: { authorization } },
          (response) => {
            response.on('error', reject)
            response.on(
              'data',
              byLine((line) => {
                const event = JSON.parse(line) as WatchEvent
                const { type, object } = event
                if (type === 'BOOKMARK') return resolve()
                if (type === 'ERROR') throw new Error(line)
                const key = `${object.metadata.namespace}/${object.metadata.name}`
                if (type === 'DELETED') kept.delete(key)
                else {
                  delete object.metadata.managedFields
                  kept.set(key, object)
                }
                onEvent?.(event)
              }),
            )
          },
        )
        request.on('error', reject)
      }),
  }
}

function byLine(onLine: (line: string) => void): (chunk: Buffer) => void {
  let rest: Buffer[] = []
  return (chunk) => {
    let from = 0
    for (let end; (end = chunk.indexOf(10, from)) >= 0; from = end + 1) {
      if (rest.length === 0) onLine(chunk.toString('utf8', from, end))
      else {
        rest.push(chunk.subarray(from, end))
        const line = Buffer.concat(rest).toString('utf8')
        rest = []
        onLine(line)
      }
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
}
