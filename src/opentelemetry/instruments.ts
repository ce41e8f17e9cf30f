import type { Attributes, Meter } from '@opentelemetry/api'

/** Every metric that there is, made once a lane: a meter gives the same stream to all that ask for the same name. */
export type Instruments = ReturnType<typeof createInstruments>

/** Seconds: from a flashblock to an hour of waiting. */
const TIME_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 24, 60, 120, 300, 900, 3_600]

export function createInstruments(meter: Meter) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter<Attributes>(name, { unit, description })
  const level = (name: string, unit: string, description: string) =>
    meter.createObservableUpDownCounter<Attributes>(name, { unit, description })
  return {
    transactions: counter('txlane.transactions', '{transaction}', 'Transactions that came to a stage'),
    time: meter.createHistogram<Attributes>('txlane.transaction.time', {
      unit: 's',
      description: 'Time from queued to a stage',
      advice: { explicitBucketBoundaries: TIME_BUCKETS },
    }),
    reverted: counter('txlane.reverted', '{transaction}', 'Transactions whose receipt says reverted'),
    replaced: counter('txlane.replaced', '{transaction}', 'Transactions that a replacement was sent for'),
    rebroadcasts: counter('txlane.rebroadcasts', '{send}', 'Bytes that were sent again'),
    stuck: counter(
      'txlane.stuck',
      '{transaction}',
      'Transactions that stand still behind another in the pool',
    ),
    feeCeilings: counter('txlane.fee_ceilings', '{transaction}', 'Bumps that the fee ceiling did not allow'),
    unknown: counter('txlane.outcomes.unknown', '{transaction}', 'Sends whose outcome was not known'),
    resolved: counter('txlane.outcomes.resolved', '{transaction}', 'Unknown outcomes that became known'),
    gapsFound: counter('txlane.gaps.found', '{nonce}', 'Gaps that nothing waiting filled'),
    gapsFilled: counter('txlane.gaps.filled', '{nonce}', 'Nonces that a no-op of the lane used'),
    foreign: counter('txlane.foreign', '{nonce}', 'Nonces that something unknown here used'),
    displaced: counter('txlane.displaced', '{nonce}', 'Nonces at which a pool holds something unknown here'),
    reorgs: counter('txlane.reorgs', '{nonce}', 'Nonces whose block left the chain'),
    holds: counter('txlane.holds', '{hold}', 'Times that the lane was held'),
    endpointChanges: counter('txlane.endpoint.changes', '{change}', 'Changes at endpoints'),
    leasesGained: counter('txlane.lease.gained', '{lease}', 'Leases that this process took'),
    leasesLost: counter('txlane.lease.lost', '{lease}', 'Leases that another process took'),
    errors: counter('txlane.errors', '{error}', 'Failures in the background'),
    inFlight: level(
      'txlane.in_flight',
      '{nonce}',
      'Nonces that were taken and that no sealed block has used',
    ),
    queued: level('txlane.queued', '{transaction}', 'Transactions that wait for a nonce'),
    unresolved: level('txlane.unresolved', '{transaction}', "Transactions that wait for an operator's word"),
    ready: meter.createObservableGauge<Attributes>('txlane.ready', {
      description: 'Whether what is sent now goes its way: 1 or 0',
    }),
    failing: meter.createObservableGauge<Attributes>('txlane.endpoint.failing', {
      unit: 's',
      description: 'For how long an endpoint has answered nothing of use; 0 while it answers',
    }),
    held: meter.createObservableGauge<Attributes>('txlane.held', {
      description: 'Whether the lane is held, by reason: 1 or 0',
    }),
  }
}
