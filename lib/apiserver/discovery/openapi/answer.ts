/** Answers requests below /openapi. */
import type { HttpResponse } from '../../../core/transport.ts'
import type { Context } from '../../context/context.ts'
import { loadedLater } from '../../model/loaded_later.ts'
import { acceptsType, answerEmpty, answerText } from '../../wire/respond.ts'
import type { Call } from '../../model/routes.ts'

/** Few servers get such a request: the documents are loaded at the first. */
const documents = loadedLater(() => import('./documents.ts').then((each) => each.openDocuments()))

const ROOT = '/openapi/v3'
const YEAR_MS = 365 * 24 * 3600 * 1000

/** Answers the index and its documents, for every method; undefined for other paths. */
export function answerOpenApi(context: Context, call: Call, path: string): HttpResponse | undefined {
  if (path === '/openapi/v2') return answerOld(call)
  if (path === ROOT) return answerIndex(context, call)
  return path.startsWith(`${ROOT}/`) ? answerDocument(context, call, path.slice(ROOT.length + 1)) : undefined
}

const OLD_FORM = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'

/**
 * Answers the protobuf form with a document without kinds. kubectl asks for it where version 3 lacks a kind, such as a
 * List, and does not go on after an error.
 */
function answerOld(call: Call): HttpResponse {
  const headers = { vary: 'Accept-Encoding, Accept' }
  return acceptsType(call.headers['accept'], OLD_FORM) && call.headers['accept']
    ? answerEmpty(200, { ...headers, 'content-type': OLD_FORM.replace('@', '.') })
    : answerEmpty(406, headers)
}

function answerIndex(context: Context, call: Call): HttpResponse {
  const { list, etag } = documents().index(context.kinds)
  const headers = { etag: `"${etag}"` }
  if (isKnown(call, headers.etag)) return answerEmpty(304, headers)
  const paths = Object.fromEntries(list.map(({ name, hash }) => [name, { serverRelativeURL: urlOf(name, hash) }]))
  // The type of the real server, although it is JSON.
  return answerText(200, JSON.stringify({ paths }), 'text/plain; charset=utf-8', headers)
}

function urlOf(name: string, hash: string): string {
  return `${ROOT}/${name}?hash=${hash}`
}

function answerDocument(context: Context, call: Call, name: string): HttpResponse {
  const listed = documents().index(context.kinds).list.find((each) => each.name === name)
  if (!listed) return answerEmpty(404)
  const headers: Record<string, string> = { vary: 'Accept' }
  if (!acceptsType(call.headers['accept'], 'application/json')) return answerEmpty(406, headers)
  headers['etag'] = `"${listed.hash}"`
  const hash = call.query.get('hash')
  if (hash && hash !== listed.hash) {
    return answerEmpty(301, { ...headers, 'content-type': 'application/json', location: urlOf(name, listed.hash) })
  }
  if (hash) {
    headers['cache-control'] = 'public, immutable'
    headers['expires'] = new Date(context.clock.now() + YEAR_MS).toUTCString()
  }
  if (isKnown(call, headers['etag'])) return answerEmpty(304, headers)
  return answerText(200, documents().text(context.kinds, name)!, 'application/json', headers)
}

/** Returns whether the client already has this content. */
function isKnown(call: Call, etag: string): boolean {
  const known = call.headers['if-none-match']
  return known !== undefined && known.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}
