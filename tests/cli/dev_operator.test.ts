/** What `kubeloop dev` changes about the start of an operator. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operator } from 'kubeloop'
import { prepareOperator } from '../../lib/cli/dev_operator.ts'
import type { HttpResponse } from '../../lib/core/transport.ts'
import { silentLog } from '../../lib/observe/log.ts'
import { refusal } from '../client/transports.ts'

const description = operator({ name: 'x' }).description
const cluster = { server: 'https://127.0.0.1:1' }

/** A session that stays open. */
const session: HttpResponse = {
  status: 200,
  headers: {},
  body: {
    text: () => Promise.resolve(''),
    cancel() {},
    async *[Symbol.asyncIterator]() {
      yield new TextEncoder().encode('{"start":1}\n')
      await new Promise(() => {})
    },
  },
}

for (const [where, answer, narrow] of [['on the embedded API', session, true], ['in a cluster of your own', refusal(404, 'NotFound'), false]] as const) {
  test(`${where} definitions are installed, and ${narrow ? 'narrowed' : 'not narrowed'} over stored objects`, async () => {
    const connection = Object.assign(() => Promise.resolve(answer), { close() {} })
    const { options } = await prepareOperator({ description, cluster, connection, log: silentLog }, false)
    assert.deepEqual(options.crds, { mode: 'install', narrow })
    assert.deepEqual([options.leaderElection, options.serves, options.cluster, options.fieldValidation], [false, false, cluster, 'Strict'])
  })
}
