export { createOutbox } from './createOutbox.js'
export { DeliveryError, type DeliveryErrorParameters } from './deliveryError.js'
export type {
  Delivery,
  DeliveryContext,
  DeliveryHandler,
  DeliveryStage,
  FailingDelivery,
  Outbox,
  OutboxOptions,
  OutboxSnapshot,
  OutboxStage,
  ReceiptSource,
} from './types.js'
export {
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorReason,
} from './verifyWebhook.js'
export { type WebhookOptions, type WebhookPayload, webhook } from './webhook.js'
