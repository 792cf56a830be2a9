/** Answers the documents with which others verify tokens of service accounts (OpenID Connect Discovery). */
import type { HttpResponse } from '../../core/transport.ts'
import type { Backend } from '../context/context.ts'
import { negotiate } from '../wire/accept.ts'
import { answerText } from '../wire/respond.ts'
import type { Call } from '../model/routes.ts'
import { methodNotAllowed, notAcceptable } from '../model/status.ts'
import type { JsonObject } from '../model/json.ts'
import { ISSUER } from '../access/tokens.ts'

const CONFIGURATION = '/.well-known/openid-configuration'
const KEYS = '/openid/v1/jwks'
const KEYS_TYPE = 'application/jwk-set+json'
const CACHED = { 'cache-control': 'public, max-age=3600' }

/** Returns undefined for any other path. */
export function answerOpenId({ access }: Backend, call: Call, path: string): HttpResponse | undefined {
  if (path !== CONFIGURATION && path !== KEYS) return undefined
  if (call.method !== 'GET') throw methodNotAllowed()
  if (path === KEYS) {
    const accepted = call.headers['accept'] || '*/*'
    if (!accepted.includes(KEYS_TYPE) && !/(\*|application)\/\*/.test(accepted)) {
      throw notAcceptable(`406: Not Acceptable\n\nAvailable representations: ${KEYS_TYPE}`, {})
    }
    return answerText(200, JSON.stringify(access.tokens.keys()), KEYS_TYPE, CACHED)
  }
  negotiate(call.headers['accept'], { supports: () => false, media: ['application/json'], by: 'router' })
  const document: JsonObject = {
    issuer: ISSUER,
    jwks_uri: `https://${call.headers['host'] ?? 'in.memory'}${KEYS}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  }
  return answerText(200, JSON.stringify(document), 'application/json', CACHED)
}
