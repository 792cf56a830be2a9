/** Builds answers, in the form that a client accepts: JSON, indented JSON or YAML; objects, tables or metadata. */
import type { HttpBody, HttpResponse } from '../../core/transport.ts'
import type { TurnBudget } from '../../async/clock.ts'
import { yamlWriter } from './yaml.ts'
import type { Json } from '../model/json.ts'
import type { Call } from '../model/routes.ts'
import { notAcceptable, type StatusError } from '../model/status.ts'
import { ListBody, type ObjectList, type TextForm } from './list_body.ts'

const encoder = new TextEncoder()

/** A body with its complete text in memory. */
export class TextBody implements HttpBody {
  readonly content: string
  #isRead = false

  constructor(content: string) {
    this.content = content
  }

  text(): Promise<string> {
    this.#isRead = true
    return Promise.resolve(this.content)
  }

  cancel(): void {
    this.#isRead = true
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    if (this.#isRead) return
    this.#isRead = true
    if (this.content) yield encoder.encode(this.content)
  }
}

/** A JSON body that a client may ask for in another form. */
class ObjectBody extends TextBody {}

/** Go's HTTP server adds it to the texts of errors. */
export const NO_SNIFFING: Record<string, string> = { 'x-content-type-options': 'nosniff' }

export const PLAIN = 'text/plain; charset=utf-8'

/** Returns an answer without a body. */
export function answerEmpty(status: number, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers, body: new TextBody('') }
}

export function answerText(
  status: number,
  text: string,
  type: string = PLAIN,
  headers: Record<string, string> = {},
): HttpResponse {
  return { status, headers: { 'content-type': type, ...headers }, body: new TextBody(text) }
}

/** Returns an API object. Clients may ask for it as YAML, see {@link encodeAnswer}. */
export function answerJson(
  status: number,
  json: string,
  warnings: readonly string[] = [],
  type = 'application/json',
): HttpResponse {
  return { status, headers: { 'content-type': type, ...warningHeaders(warnings) }, body: new ObjectBody(`${json}\n`) }
}

/** Returns a list, whose text is made while it is read. */
export function answerList(list: ObjectList, warnings: readonly string[], budget: TurnBudget): HttpResponse {
  const headers = { 'content-type': 'application/json', ...warningHeaders(warnings) }
  return { status: 200, headers, body: new ListBody(list, budget) }
}

export function answerError(error: StatusError, warnings: readonly string[] = []): HttpResponse {
  const retry = error.details?.['retryAfterSeconds']
  const headers = {
    'content-type': 'application/json',
    ...warningHeaders(warnings),
    ...(retry !== undefined && { 'retry-after': String(retry) }),
  }
  return { status: error.code, headers, body: new ObjectBody(`${JSON.stringify(error.body())}\n`) }
}

/** The answer to a path that does not exist, in the words of Go's HTTP server. */
export function answerPageNotFound(): HttpResponse {
  return answerText(404, '404 page not found\n', PLAIN, NO_SNIFFING)
}

/** In characters: clients refuse answers with long headers. */
const MAX_WARNINGS_LENGTH = 4096

/** Returns the Warning header (RFC 7234) that kubectl prints. */
export function warningHeaders(warnings: readonly string[]): Record<string, string> {
  const texts = fitting([...new Set(warnings)]).map((text) =>
    `299 - "${text.replace(/[\\"]/g, '\\$&').replace(/[\r\n]/g, ' ')}"`
  )
  return texts.length > 0 ? { warning: texts.join(', ') } : {}
}

/** Returns the first warnings, as many as fit. */
function fitting(warnings: readonly string[]): readonly string[] {
  let length = 0
  return warnings.filter((text) => (length += text.length) <= MAX_WARNINGS_LENGTH)
}

/** Returns whether the answer may be YAML: see {@link yamlWriter}. */
export function acceptsYaml({ headers: { accept } }: Call): boolean {
  return accept?.includes('yaml') === true
}

/** Returns the answer as it is sent. */
export function encodeAnswer(call: Call, response: HttpResponse, newAuditId: () => string): HttpResponse {
  const headers: Record<string, string> = {
    'audit-id': call.headers['audit-id'] || newAuditId(),
    'cache-control': 'no-cache, private',
    ...response.headers,
  }
  const { body } = response
  if (!(body instanceof ObjectBody || body instanceof ListBody)) return { ...response, headers }
  const form = acceptedForm(call.headers['accept'], response.status >= 400 ? () => false : isConvertible)
  const isYaml = form?.media === 'application/yaml'
  if (isYaml) headers['content-type'] = headers['content-type']!.replace('application/json', 'application/yaml')
  // An error that cannot be given in the accepted form is sent as JSON.
  const style = isYaml ? 'yaml' : !form || form.pretty || isPretty(call) ? 'indented' : 'json'
  return { ...response, headers, body: styled(body, style) }
}

/** The endpoint has chosen one of these, or refused the request. */
function isConvertible(form: AcceptedForm): boolean {
  return supportsForm(form) || form.group === 'apidiscovery.k8s.io'
}

/** Returns a body in a form. The real server indents without a line break at the end. */
function styled(body: ObjectBody | ListBody, form: TextForm): HttpBody {
  if (form === 'json') return body
  if (body instanceof ListBody) return body.as(form)
  const value = JSON.parse(body.content) as Json
  return new TextBody(form === 'yaml' ? yamlWriter()(value) : JSON.stringify(value, null, 2))
}

const TRUE: readonly string[] = ['1', 't', 'T', 'TRUE', 'true', 'True']

/** Returns whether the request asks for indented JSON: by `pretty`, or as a browser or a command-line tool. */
function isPretty({ query, headers }: Call): boolean {
  const given = query.get('pretty')
  return given ? TRUE.includes(given) : /^(?:curl|Wget|Mozilla\/5\.0)/.test(headers['user-agent'] ?? '')
}

/** Returns a source of audit ids: random ones, or for equal runs of a seeded server, numbers. */
export function auditIds(isSeeded: boolean): () => string {
  if (!isSeeded) return () => crypto.randomUUID()
  let last = 0
  return () => `00000000-0000-4000-8000-${(++last).toString(16).padStart(12, '0')}`
}

/** One clause of an Accept header. */
interface Clause {
  readonly type: string
  readonly subtype: string
  /** The parameters without `q`. */
  readonly parameters: ReadonlyMap<string, string>
}

interface Weighted extends Clause {
  readonly quality: number
}

const NO_PARAMETERS: ReadonlyMap<string, string> = new Map()

/** Most clients send the same few headers again and again. */
const known = new Map<string, readonly Clause[]>()
const MAX_KNOWN = 100

/** Returns the clauses, the preferred first. Malformed clauses are ignored. */
function parseAccept(header: string): readonly Clause[] {
  let clauses = known.get(header)
  if (!clauses) {
    clauses = header.split(',').flatMap(parseClause).sort(compare)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(header, clauses)
  }
  return clauses
}

/** By quality; equal ones that name a type before those that accept any. */
function compare(a: Weighted, b: Weighted): number {
  return b.quality - a.quality || wildcards(a) - wildcards(b)
}

function wildcards({ type, subtype }: Clause): number {
  return (type === '*' ? 2 : 0) + (subtype === '*' ? 1 : 0)
}

function parseClause(text: string): readonly Weighted[] {
  const [media = '', ...rest] = text.split(';')
  const [type = '', subtype, ...more] = media.split('/').map((part) => part.trim())
  if (more.length > 0 || !subtype && type !== '*') return []
  let quality = 1
  let parameters: Map<string, string> | undefined
  for (const parameter of rest) {
    const [name = '', value, ...others] = parameter.split('=')
    if (!value || others.length > 0) continue
    if (name.trim() === 'q') quality = Number.isNaN(Number(value)) ? 0 : Number(value)
    else (parameters ??= new Map()).set(name.trim(), value.trim())
  }
  return [{ type, subtype: subtype || '*', parameters: parameters ?? NO_PARAMETERS, quality }]
}

/** Returns whether a clause covers a media type, such as `application/json`. */
function covers({ type, subtype }: Clause, media: string): boolean {
  if (type === '*') return subtype === '*'
  const slash = media.indexOf('/')
  return type === media.slice(0, slash) && (subtype === '*' || subtype === media.slice(slash + 1))
}

/** Returns whether a client accepts a media type, whatever the parameters. Without a header, it accepts all. */
export function acceptsType(header: string | undefined, media: string): boolean {
  return !header || parseAccept(header).some((clause) => covers(clause, media))
}

/** The form of an answer that a client asks for. */
export interface AcceptedForm {
  readonly media: Media
  /** The `as` parameter, such as `Table` or `PartialObjectMetadata`. */
  readonly as: string | undefined
  readonly group: string | undefined
  readonly version: string | undefined
  readonly pretty: boolean
}

/** Protobuf is accepted, and answered as JSON: clients go by the answer's content type. */
export type Media = 'application/json' | 'application/yaml' | 'application/vnd.kubernetes.protobuf'

/** In the order of preference. */
const MEDIA: readonly Media[] = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']

/** Returns the best form that the client accepts; undefined if there is none. */
export function acceptedForm(
  header: string | undefined,
  supports: (form: AcceptedForm) => boolean,
  offered: readonly Media[] = MEDIA,
): AcceptedForm | undefined {
  if (!header) return PLAIN_FORM
  for (const clause of parseAccept(header)) {
    const { parameters } = clause
    const stream = parameters.get('stream')
    if (stream && stream !== 'watch') continue
    const pretty = parameters.get('pretty') === '1'
    const isConverted = parameters.has('as') || parameters.has('g') || parameters.has('v')
    for (const media of offered) {
      if (!covers(clause, media)) continue
      // YAML is not a stream.
      if (stream && media === 'application/yaml') continue
      const form: AcceptedForm = {
        media,
        as: isConverted ? parameters.get('as') ?? '' : undefined,
        group: parameters.get('g'),
        version: parameters.get('v'),
        pretty,
      }
      if (!isConverted || supports(form)) return form
    }
  }
  return undefined
}

const PLAIN_FORM: AcceptedForm = {
  media: 'application/json',
  as: undefined,
  group: undefined,
  version: undefined,
  pretty: false,
}

/** Returns whether a clause names an offered type, or all types. Only then the real server's router goes on. */
function isRouted(header: string, offered: readonly Media[]): boolean {
  return header.split(',').map((clause) => clause.split(';')[0]!.trim()).some((type) =>
    type === '*/*' || (offered as readonly string[]).includes(type)
  )
}

/** The types of watches. */
const STREAMS: readonly string[] = MEDIA.filter((media) => media !== 'application/yaml').map((media) =>
  `${media};stream=watch`
)

/** What an endpoint offers. */
export interface Offer {
  readonly supports: (form: AcceptedForm) => boolean
  /** Default: all. */
  readonly media?: readonly Media[]
  /** How the endpoint is served on a real server, which decides the message of the error. */
  readonly by: 'router' | 'handler'
  /** Whether the endpoint also serves watches. */
  readonly watch?: 'possible' | 'requested'
}

/** Returns the best form for a request. Throws 406 if the client accepts none. */
export function negotiate(header: string | undefined, { supports, media = MEDIA, by, watch }: Offer): AcceptedForm {
  if (header && by === 'router' && !isRouted(header, media)) {
    throw notAcceptable(
      `406: Not Acceptable\n\nAvailable representations: ${[...media, ...(watch ? STREAMS : [])].join(', ')}`,
      {},
    )
  }
  const form = acceptedForm(header, supports, media)
  if (!form) throw notAcceptable(`${ONLY}: ${media.join(', ')}`)
  if (watch === 'requested' && form.media === 'application/yaml') throw notAcceptable(`${ONLY}: ${STREAMS.join(', ')}`)
  return form
}

const ONLY = 'only the following media types are accepted'

const META_GROUP = 'meta.k8s.io'

/** Returns whether the server can render the form that an Accept clause requests. */
export function supportsForm({ as, group, version }: Pick<AcceptedForm, 'as' | 'group' | 'version'>): boolean {
  if (as !== 'Table' && as !== 'PartialObjectMetadata' && as !== 'PartialObjectMetadataList') return false
  return group === META_GROUP && (version === 'v1' || version === 'v1beta1')
}
