/** Reads AdmissionReviews and writes their responses. */
import { parseExact } from '../../core/exact_json.ts'
import { isFields } from '../../core/clone.ts'
import { encodeBase64 } from '../../core/base64.ts'
import type { Status } from '../../core/errors.ts'
import type { AdmissionRequest } from './admission.ts'
import type { WebhookRequest } from '../common/handler.ts'

export interface Review {
  /** The response has the same. */
  readonly apiVersion: string
  readonly uid: string
  readonly request: AdmissionRequest
  /** The whole review, which has the texts of large integers. */
  readonly whole: object
}

/** A review that cannot be read. The answer names what could be read. */
export interface BadReview {
  readonly apiVersion: string
  /** Empty if it could not be read. */
  readonly uid: string
  readonly problem: string
}

/** The answer to a review. */
export interface Verdict {
  readonly allowed: boolean
  /** Why the request is denied. Its code is at least 400. */
  readonly status?: Status
  readonly warnings?: readonly string[]
  /** The JSON of a JSON Patch with at least one operation. */
  readonly patch?: string | undefined
}

const V1 = 'admission.k8s.io/v1'
const VERSIONS: ReadonlySet<unknown> = new Set([V1, 'admission.k8s.io/v1beta1'])

/**
 * Max nesting of a review. Defaulting, validation and comparison use recursion, which overflows the smallest stack of
 * the runtimes at about 5,000 levels.
 */
const MAX_DEPTH = 1000

const UTF8 = new TextDecoder()

/** Reads the request of a review. Never throws. */
export function readReview({ contentType, body }: Pick<WebhookRequest, 'contentType' | 'body'>): Review | BadReview {
  const bad = (problem: string, known: { readonly apiVersion?: string; readonly uid?: string } = {}): BadReview => ({
    apiVersion: V1,
    uid: '',
    ...known,
    problem: `Cannot read the AdmissionReview: ${problem}`,
  })
  if (body.length === 0) return bad('the body is empty')
  if (contentType !== 'application/json') {
    return bad(`its content type is ${JSON.stringify(contentType)}, and must be "application/json"`)
  }
  const whole = parse(UTF8.decode(body))
  if (typeof whole === 'string') return bad(whole)
  const { apiVersion = V1, kind = 'AdmissionReview', request } = whole
  const uid = isFields(request) && typeof request['uid'] === 'string' ? request['uid'] : ''
  if (!VERSIONS.has(apiVersion) || kind !== 'AdmissionReview') {
    const given = `${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)}`.slice(0, 200)
    return bad(`it is a ${given}, not an AdmissionReview of ${[...VERSIONS].join(' or ')}`, { uid })
  }
  const known = { apiVersion: apiVersion as string, uid }
  if (!isFields(request)) return bad('it has no request', known)
  if (isDeeper(whole, MAX_DEPTH)) return bad(`it is nested deeper than ${MAX_DEPTH} levels`, known)
  return { ...known, request: request as object as AdmissionRequest, whole }
}

/** Returns an object, or what is wrong with the text, without parts of it, which may be those of a Secret. */
function parse(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const whole = parseExact(text)
    return isFields(whole) ? whole : 'it is not a JSON object'
  } catch (error) {
    // Exact parsing uses recursion.
    return error instanceof RangeError ? 'it is nested too deep' : 'it is not JSON'
  }
}

/** Returns the JSON of the response. */
export function writeReview(
  { apiVersion, uid }: { readonly apiVersion: string; readonly uid: string },
  { allowed, status, warnings = [], patch }: Verdict,
): string {
  return JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion,
    response: {
      uid,
      allowed,
      // The API server reads the code of a denial, 400 if it is lower. controller-runtime states 200 otherwise.
      status: status ? { metadata: {}, ...status } : { metadata: {}, code: 200 },
      ...(patch !== undefined && { patch: encodeBase64(patch), patchType: 'JSONPatch' }),
      ...(warnings.length > 0 && { warnings }),
    },
  })
}

/** The recursion ends at `max`. */
function isDeeper(value: unknown, max: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (max === 0) return true
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, max - 1))
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], max - 1)) return true
  return false
}
