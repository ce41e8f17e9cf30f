import { LEASES_AHEAD_MAX } from '../../leaseTime.js'

/**
 * Conditions on the columns `holder`, `epoch`, `expires_at` and `lease_ms` of the row `of`, a lane or an
 * outbox. The server's clock may have been set back, and after a failover it is a different clock, so a lease
 * that ends too far in the future counts as expired (`leaseTime.ts`).
 */
const tooFarAhead = (of: string) =>
  `clock_timestamp() + ${LEASES_AHEAD_MAX} * ${of}.lease_ms * interval '1 millisecond'`

export const isHeld = (of: string) =>
  `(${of}.holder IS NOT NULL AND ${of}.expires_at > clock_timestamp() AND ${of}.expires_at <= ${tooFarAhead(of)})`

/** True if the owner in this parameter may take the lease. */
export const mayTake = (of: string, holder: string) =>
  `(${of}.holder IS NULL OR ${of}.holder = ${holder} OR ${of}.expires_at <= clock_timestamp()
          OR ${of}.expires_at > ${tooFarAhead(of)})`

/** Sets the lease to last this many milliseconds from now. */
export const lasts = (ttlMs: string) => `lease_ms = ${ttlMs}::double precision,
        expires_at = clock_timestamp() + ${ttlMs}::double precision * interval '1 millisecond'`

/**
 * Gives the lease to the owner in this parameter: with a new epoch, or with the same one if it already owns
 * it.
 */
export const taken = (of: string, holder: string, ttlMs: string) =>
  `epoch = CASE WHEN ${of}.holder = ${holder} THEN ${of}.epoch ELSE ${of}.epoch + 1 END,
        holder = ${holder},
        ${lasts(ttlMs)}`
