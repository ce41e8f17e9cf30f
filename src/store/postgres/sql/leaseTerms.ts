import { LEASES_AHEAD_MAX } from '../../leaseTime.js'

/**
 * What the columns `holder`, `epoch`, `expires_at` and `lease_ms` say of the row `of`, a lane or an outbox. The server's
 * clock may have been set back, and after a failover it is another one: a lease that ends too far ahead has run out
 * (`leaseTime.ts`).
 */
const tooFarAhead = (of: string) =>
  `clock_timestamp() + ${LEASES_AHEAD_MAX} * ${of}.lease_ms * interval '1 millisecond'`

export const isHeld = (of: string) =>
  `(${of}.holder IS NOT NULL AND ${of}.expires_at > clock_timestamp() AND ${of}.expires_at <= ${tooFarAhead(of)})`

/** Whether the holder in this parameter may take it. */
export const mayTake = (of: string, holder: string) =>
  `(${of}.holder IS NULL OR ${of}.holder = ${holder} OR ${of}.expires_at <= clock_timestamp()
          OR ${of}.expires_at > ${tooFarAhead(of)})`

/** That it lasts so many milliseconds from now on. */
export const lasts = (ttlMs: string) => `lease_ms = ${ttlMs}::double precision,
        expires_at = clock_timestamp() + ${ttlMs}::double precision * interval '1 millisecond'`

/** That the holder in this parameter has it: with a new epoch, or again with the same one. */
export const taken = (of: string, holder: string, ttlMs: string) =>
  `epoch = CASE WHEN ${of}.holder = ${holder} THEN ${of}.epoch ELSE ${of}.epoch + 1 END,
        holder = ${holder},
        ${lasts(ttlMs)}`
