/** The embedded API answers drawn requests as the real server has: drawn/record.ts records its answers. */
import { test } from 'node:test'
import { ApiServer } from '../../lib/apiserver/mod.ts'
import { nextTurn } from '../../lib/async/clock.ts'
import { Api } from './api.ts'
import { assertRecorded, GROUPS } from './drawn/fingerprints.ts'
import { serverOf } from './drawn/server.ts'

for (const [group, { seeds }] of Object.entries(GROUPS)) {
  test(`drawn ${group} are answered as by the real server`, async () => {
    for (let seed = 1; seed <= seeds; seed++) {
      await assertRecorded(group, seed, serverOf(new Api(new ApiServer().handle, {}), nextTurn))
    }
  })
}
