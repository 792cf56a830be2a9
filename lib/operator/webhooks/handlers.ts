/** The handlers of an operator's webhooks, by their paths. */
import { type Log, RateLimitedLog } from '../../observe/log.ts'
import { admissionHandler } from '../../webhook/admission/admission_handler.ts'
import { conversionHandler, CONVERT_PATH } from '../../webhook/conversion/conversion.ts'
import type { WebhookHandler } from '../../webhook/common/handler.ts'
import { lossWarnings } from '../../webhook/conversion/lost_fields.ts'
import type { WebhookServer } from '../../webhook/server/webhook_server.ts'
import type { OperatorDescription } from '../description/description.ts'
import type { AdmissionGroup } from './admissions.ts'
import type { WebhookSetup } from './setup.ts'

/** Adds the handlers to a server. Returns them by their paths. */
export function addHandlers(
  server: WebhookServer,
  { conversions }: OperatorDescription,
  admissions: readonly AdmissionGroup[],
  { client, clock, budget }: WebhookSetup,
  log: Log,
): ReadonlyMap<string, WebhookHandler> {
  const handlers = new Map<string, WebhookHandler>()
  for (const { path, phase, resource, members } of admissions) {
    const handler = admissionHandler(phase, resource, members.map(({ hooks }) => hooks), { client, clock, log })
    handlers.set(path, handler)
    server.handle(path, handler, { name: `${phase === 'mutate' ? 'default' : 'validate'} of ${resource.kind}` })
  }
  if (conversions.length > 0) {
    const limitedLog = new RateLimitedLog(clock, log)
    const onThrow = (error: unknown, what: string): void => limitedLog.error(what, { error })
    const handler = conversionHandler({ conversions, budget, onThrow })
    handlers.set(CONVERT_PATH, handler)
    // A hint, which must not delay the start.
    void lossWarnings(conversions, budget).then((warnings) => warnings.forEach((warning) => log.warn(warning)))
    server.handle(CONVERT_PATH, handler, { name: 'conversion', protocol: 'conversion' })
  }
  return handlers
}
