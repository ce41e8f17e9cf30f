import type { Attributes, Meter } from '@opentelemetry/api'

/** All metrics, created once per lane. A meter returns the same stream for equal names. */
export type Instruments = ReturnType<typeof createInstruments>

/** The bounds of the histograms in seconds: from a flashblock to an hour. */
const TIME_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5, 3, 6, 12, 24, 60, 120, 300, 900, 3_600]

export function createInstruments(meter: Meter) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter<Attributes>(name, { unit, description })
  const level = (name: string, unit: string, description: string) =>
    meter.createObservableUpDownCounter<Attributes>(name, { unit, description })
  return {
    transactions: counter('txlane.transactions', '{transaction}', 'Transactions that reached a stage'),
    time: meter.createHistogram<Attributes>('txlane.transaction.time', {
      unit: 's',
      description: 'Time from queued to a stage',
      advice: { explicitBucketBoundaries: TIME_BUCKETS },
    }),
    reverted: counter('txlane.reverted', '{transaction}', 'Transactions whose receipt says reverted'),
    replaced: counter('txlane.replaced', '{transaction}', 'Transactions for which a replacement was sent'),
    rebroadcasts: counter('txlane.rebroadcasts', '{send}', 'Resends of signed bytes'),
    stuck: counter(
      'txlane.stuck',
      '{transaction}',
      'Transactions that wait behind another transaction at their nonce in a pool',
    ),
    feeCeilings: counter('txlane.fee_ceilings', '{transaction}', 'Bumps prevented by the fee ceiling'),
    unknown: counter('txlane.outcomes.unknown', '{transaction}', 'Sends with an unknown outcome'),
    resolved: counter('txlane.outcomes.resolved', '{transaction}', 'Unknown outcomes that became known'),
    gapsFound: counter('txlane.gaps.found', '{nonce}', 'Gaps that no waiting transaction filled'),
    gapsFilled: counter('txlane.gaps.filled', '{nonce}', 'Nonces that a no-op of the lane used'),
    foreign: counter('txlane.foreign', '{nonce}', 'Nonces used by a transaction that the lane does not know'),
    displaced: counter(
      'txlane.displaced',
      '{nonce}',
      'Nonces at which a pool has a transaction that the lane does not know',
    ),
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
      description: 'Whether the sender accepts and processes transactions: 1 or 0',
    }),
    failing: meter.createObservableGauge<Attributes>('txlane.endpoint.failing', {
      unit: 's',
      description: 'Seconds for which an endpoint has given no usable answer; 0 while it answers',
    }),
    held: meter.createObservableGauge<Attributes>('txlane.held', {
      description: 'Whether the lane is held, by reason: 1 or 0',
    }),
  }
}
