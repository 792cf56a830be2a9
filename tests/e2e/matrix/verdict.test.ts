import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Observed, reasonOf, type Refusal, verdictOf } from './verdict.ts'

test('a refusal is named by what its message is about', () => {
  const calling = 'Internal error occurred: failed calling webhook "a.sites.kubeloop": failed to call webhook: '
  const cases = {
    x509:
      `${calling}Post "https://m0.m0.svc:9443/mutate?timeout=10s": tls: failed to verify certificate: x509: unknown`,
    'no answer': 'conversion webhook for a.dev/v1, Kind=Site failed: Post "https://m0:9443/convert?timeout=30s": EOF',
    timeout: `${calling}Post "https://m0.m0.svc:9443/mutate?timeout=10s": context deadline exceeded`,
    'no such path': `${calling}the server could not find the requested resource`,
    'read-only':
      'Site.a.dev "s" is invalid: spec: Forbidden: v1 is read-only until the operator\'s leader has installed it',
    conversion: 'conversion webhook for a.dev/v1, Kind=Site failed: up() of v1alpha1 failed: no',
    denied: 'admission webhook "a.sites.kubeloop" denied the request: Site.a.dev "s" is invalid: spec.note: forbidden',
    'not served': '404 page not found',
    'no object': 'sites.a.dev "s8" not found',
    invalid: 'Site.a.dev "s" is invalid: spec.hosts: Required value',
    other: 'storage is full',
  }
  assert.deepEqual(Object.values(cases).map(reasonOf), Object.keys(cases))
})

test('a refusal is excused by its reason and its time, a loss and a missing admission by their time', () => {
  const refusal = (fromMs: number, reason: Refusal['reason']): Refusal => ({
    fromMs,
    toMs: fromMs + 100,
    reason,
    text: 'text',
  })
  const hand = { why: 'by hand', fromMs: 1000, toMs: 2000 }
  const killed = { why: 'killed', fromMs: 3000, toMs: 4000, reasons: ['no answer'] } as const
  const verdict = (more: Partial<Observed>) =>
    verdictOf({ eventMs: 500, refusals: [], excuses: [hand, killed], lost: [], unguardedMs: [], wrong: [], ...more })
  assert.deepEqual(verdict({}), { refused: 'none', problems: [] })
  const one = (fromMs: number, reason: Refusal['reason']) => verdict({ refusals: [refusal(fromMs, reason)] }).refused
  assert.deepEqual([899, 900, 2000, 2001].map((ms) => one(ms, 'x509')), [
    '1 x509!',
    '1 x509 (by hand)',
    '1 x509 (by hand)',
    '1 x509!',
  ])
  assert.deepEqual([one(3500, 'no answer'), one(3500, 'x509')], ['1 no answer (killed)', '1 x509!'])
  const refusals = [refusal(3500, 'no answer'), refusal(4500, 'no answer'), refusal(5500, 'no answer')]
  assert.deepEqual(verdict({ refusals, wrong: ['else'] }), {
    refused: '1 no answer (killed), 2 no answer!',
    problems: ['2 refused, no answer, 4.0 to 5.1 s: text', 'else'],
  })
  const lost = [{ text: 'a', writtenMs: [900, 1500, 3500] }, { text: 'b', writtenMs: [900, 3500] }]
  assert.deepEqual(verdict({ lost }).problems, ['1 objects lost fields: b'])
  assert.deepEqual(verdict({ unguardedMs: [1500, 3500] }).problems, ['1 stored without admission, at 3.0 s'])
})
