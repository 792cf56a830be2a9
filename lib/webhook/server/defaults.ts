/** The defaults of controller-runtime's webhook server, so that migrated configurations fit. */

/** The default port of the webhook server. */
export const WEBHOOK_PORT = 9443

/** The default folder of certificates, in the folder for temporary files. */
export const CERTIFICATE_FOLDER = 'k8s-webhook-server/serving-certs'
