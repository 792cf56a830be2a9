/** Reads the Accept header, as apiserver does: the best clause whose type and parameters the server supports. */

import { notAcceptable } from '../model/status.ts'

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
