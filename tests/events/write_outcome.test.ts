import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError, NetworkError } from '../../lib/core/errors.ts'
import { writeOutcome } from '../../lib/events/dropped_events.ts'

const refusal = (code: number, reason = '', details: object = {}): ApiError =>
  new ApiError('Cannot create x: no', { reason, code, details }, { code })
const terminating = { causes: [{ reason: 'NamespaceTerminating', message: 'going', field: 'metadata.namespace' }] }

/** Columns: the error, and its outcome for a create and for a patch. */
const TABLE: readonly (readonly [string, unknown, string, string])[] = [
  ['a name that exists', refusal(409, 'AlreadyExists', { name: 'x' }), 'taken', 'unsent'],
  ['a conflict', refusal(409, 'Conflict', { name: 'x' }), 'unsent', 'unsent'],
  [
    'an object or namespace that is gone',
    refusal(404, 'NotFound', { name: 'x' }),
    'refused/refused quietly',
    'missing',
  ],
  ['a kind that is not served', refusal(404, 'NotFound'), 'refused/forbidden', 'refused/forbidden'],
  ['a missing right', refusal(403, 'Forbidden'), 'refused/forbidden', 'refused/forbidden'],
  [
    'a namespace that is being deleted',
    refusal(403, 'Forbidden', terminating),
    'refused/refused quietly',
    'refused/refused quietly',
  ],
  ['unknown credentials', refusal(401, 'Unauthorized'), 'unsent', 'unsent'],
  ['too many requests', refusal(429, 'TooManyRequests'), 'unsent', 'unsent'],
  ['a request timeout', refusal(408), 'unknown', 'unknown'],
  ['an internal error', refusal(500, 'InternalError'), 'unknown', 'unknown'],
  ['a gateway timeout', refusal(504, 'Timeout'), 'unknown', 'unknown'],
  ['an invalid event', refusal(422, 'Invalid'), 'refused/refused', 'refused/refused'],
  ['a bad request', refusal(400, 'BadRequest'), 'refused/refused', 'refused/refused'],
  ['no connection', new NetworkError('no', { phase: 'connect' }), 'unsent', 'unsent'],
  ['a connection that broke', new NetworkError('no', { phase: 'response' }), 'unknown', 'unknown'],
  ['half an answer', new NetworkError('no', { phase: 'body' }), 'unknown', 'unknown'],
  ['an answer that is no JSON', new SyntaxError('no'), 'unknown', 'unknown'],
  ['a request that was given up', new DOMException('late', 'TimeoutError'), 'unknown', 'unknown'],
]

test('each failure has the outcome of the table', () => {
  for (const [what, error, forCreate, forPatch] of TABLE) {
    const say = (kind: 'create' | 'patch'): string => {
      const { answer, cause, quiet } = writeOutcome(error, kind)
      return answer === 'refused' ? `refused/${cause}${quiet ? ' quietly' : ''}` : answer
    }
    assert.deepEqual([what, say('create'), say('patch')], [what, forCreate, forPatch])
  }
})
