/** Tests the metrics of webhooks: the names, labels and buckets of controller-runtime's. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { prometheusMeter } from '../../lib/manager/metrics.ts'

test('the metrics have the names, labels and buckets of controller-runtime, and begin at 0', async () => {
  const registry = new Registry()
  const meter = await prometheusMeter(registry)
  const metrics = meter.webhooks()
  meter.certificates('webhooks').notAfter.set(1.5e9)
  for (const server of ['webhooks', 'metrics'] as const) meter.certificates(server).reads.inc()
  const path = metrics.path('/validate')
  path.latency.observe(0.05)
  path.requests(413).inc()
  path.inFlight.inc()
  metrics.panics.admission.inc()
  const text = await registry.metrics()
  const lines = text.split('\n').filter((line) => /^(controller_runtime_|certwatcher_|kubeloop_)/.test(line))
  const prefix = 'controller_runtime_webhook'
  const buckets = ['1e-8', '1e-7', '0.000001', '0.00001', '0.0001', '0.001', '0.01', '0.1', '1', '10', '100', '1000']
  assert.deepEqual(
    lines.filter((line) => line.includes('_bucket')),
    [...buckets, '+Inf'].map((le, i) =>
      `${prefix}_latency_seconds_bucket{le="${le}",webhook="/validate"} ${Number(i > 6)}`
    ),
  )
  assert.deepEqual(lines.filter((line) => !line.includes('latency')).sort(), [
    'certwatcher_read_certificate_errors_total 0',
    'certwatcher_read_certificate_total 2',
    'controller_runtime_conversion_webhook_panics_total 0',
    `${prefix}_panics_total 1`,
    `${prefix}_requests_in_flight{webhook="/validate"} 1`,
    `${prefix}_requests_total{webhook="/validate",code="200"} 0`,
    `${prefix}_requests_total{webhook="/validate",code="413"} 1`,
    `${prefix}_requests_total{webhook="/validate",code="500"} 0`,
    'kubeloop_certificate_expiration_timestamp_seconds{server="metrics"} 0',
    'kubeloop_certificate_expiration_timestamp_seconds{server="webhooks"} 1500000000',
  ])
})
