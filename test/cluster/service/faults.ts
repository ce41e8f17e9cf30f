import { deriveRandom, pick, shuffle } from '../../sim/random.js'
import { pause } from '../../support/pause.js'
import type { Service } from './services.js'

export type ServiceFault = 'kill' | 'stop' | 'end' | 'restart the database' | 'change the keys'

export type FaultPlan = {
  readonly kills: number
  readonly stops: number
  readonly ends: number
  readonly database: boolean
  readonly seed: number
}

// Longer than a lease: when the process wakes up, another one owns its lanes.
const STOPPED_MS = 12_000
const DOWN_MS = 1_000

export function planFaults({ kills, stops, ends, database, seed }: FaultPlan): readonly ServiceFault[] {
  const faults: ServiceFault[] = [
    ...Array.from({ length: kills }, () => 'kill' as const),
    ...Array.from({ length: stops }, () => 'stop' as const),
    ...Array.from({ length: ends }, () => 'end' as const),
    ...(database ? ['restart the database' as const] : []),
    'change the keys',
  ]
  shuffle(deriveRandom(seed, 'service faults'), faults)
  return faults
}

/**
 * Inflicts the fault on one of the running processes, and undoes it. The last running process is spared,
 * because it has to do the work.
 */
export async function strike(
  fault: ServiceFault,
  parts: {
    readonly services: readonly Service[]
    readonly random: () => number
    readonly restart: (() => Promise<void>) | undefined
    readonly changeKeys: () => Promise<void>
    readonly failed: (why: string) => void
  },
): Promise<void> {
  const { services, random } = parts
  if (fault === 'restart the database') return parts.restart?.()
  if (fault === 'change the keys') return parts.changeKeys()
  const up = services.filter(({ isUp }) => isUp)
  if (up.length < 2) return
  const victim = pick(random, up)
  if (fault === 'stop') {
    victim.signal('SIGSTOP')
    await pause(STOPPED_MS)
    victim.signal('SIGCONT')
    return
  }
  if (fault === 'kill') await victim.kill()
  else {
    const why = await victim.end()
    if (why !== undefined) parts.failed(`process ${victim.number} did not end well: ${why}`)
  }
  await pause(DOWN_MS)
  await victim.start()
}
