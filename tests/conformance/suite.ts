/** The conformance cases of an API server. */
import { APPLY_CASES } from './apply.ts'
import { Api, type Case, type SharedKinds } from './api.ts'
import { BUILTIN_CASES } from './builtin.ts'
import { CONVERSION_CASES } from './conversions.ts'
import { CUSTOM_CASES } from './custom.ts'
import { DEFAULT_CASES } from './defaults.ts'
import { DELETION_CASES } from './deletion.ts'
import { DISCOVERY_CASES } from './discovery.ts'
import { LIST_CASES } from './lists.ts'
import { OBJECT_CASES } from './objects.ts'
import { PATCH_CASES } from './patches.ts'
import { WATCH_CASES } from './watches.ts'
import { WEBHOOK_CASES } from './webhooks.ts'
import type { Transport } from '../../lib/core/transport.ts'

export const CASES: readonly Case[] = [
  ...OBJECT_CASES,
  ...PATCH_CASES,
  ...APPLY_CASES,
  ...DELETION_CASES,
  ...LIST_CASES,
  ...WATCH_CASES,
  ...CUSTOM_CASES,
  ...DISCOVERY_CASES,
  ...DEFAULT_CASES,
  ...BUILTIN_CASES,
  ...WEBHOOK_CASES,
  ...CONVERSION_CASES,
]

/** Runs one case on a server, in its own namespace. */
export async function runCase(each: Case, transport: Transport, shared: SharedKinds): Promise<void> {
  const api = new Api(transport, shared)
  await api.prepare()
  await each.run(api)
}
