import { RESPONSE_BYTES_MAX } from '../rpc/transports/boundedText.js'
import type { Limits } from '../types/index.js'

/** The default limits of a lane (P9). */
export const defaultLimits: Limits = {
  queueMax: 100_000,
  window: 64,
  windowMax: 2_048,
  delegatedMax: 1,
  batchMax: 1_000,
  requestsMax: 4,
  prepareMax: 200,
  signMax: 100,
  sendTimeoutMs: 10_000,
  readTimeoutMs: 5_000,
  readyTimeoutMs: 30_000,
  receiptPatienceMs: 600_000,
  restMsMax: 60_000,
  requestsPerSecond: undefined,
  callsPerSecond: undefined,
  responseBytesMax: RESPONSE_BYTES_MAX,
  gapFillAfterMs: 1_000,
  fillsMax: 16,
  stuckAfterBlocks: 2,
  stuckAfterMs: 2_000,
  evidencePatienceMs: 600_000,
  resendMax: 64,
  reservationTtlMs: 120_000,
  closeTimeoutMs: 10_000,
  pollIntervalMs: 200,
  reorgHorizon: 64,
  seedSpanMax: 1_024,
  coldStartMaxMs: 30_000,
}
