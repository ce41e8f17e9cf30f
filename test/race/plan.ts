import fc from 'fast-check'
import type { Caller } from './caller.js'
import type { Carries, Says } from './gatedPort.js'
import type { Takes } from './gatedStore.js'
import type { Luck, World } from './world.js'

const luck = fc.record<Luck>({
  says: fc.array(
    fc.constantFrom<Says>(
      'takes it',
      'takes it',
      'swallows it',
      'intrinsic',
      'pool is full',
      'screened',
      'gibberish',
    ),
    { maxLength: 12 },
  ),
  carries: fc.array(
    fc.constantFrom<Carries>('both ways', 'both ways', 'request lost', 'answer lost', 'request late'),
    { maxLength: 8 },
  ),
  writes: fc.array(
    fc.constantFrom<Takes>('takes', 'takes', 'takes', 'fails', 'takes, but loses the answer'),
    {
      maxLength: 8,
    },
  ),
  ids: fc.array(fc.constantFrom<Takes>('takes', 'takes', 'takes', 'fails'), { maxLength: 5 }),
  signs: fc.array(fc.boolean(), { maxLength: 6 }),
})

type Change = 'cancel' | 'replace' | 'speedUp' | 'abort' | 'again'

const order = fc.record({
  until: fc.constantFrom('queued' as const, 'accepted' as const),
  expiresInMs: fc.option(fc.integer({ min: 1, max: 6_000 }), { nil: undefined, freq: 4 }),
  onExpiry: fc.constantFrom('cancel' as const, 'leave' as const),
  changes: fc.uniqueArray(fc.constantFrom<Change>('cancel', 'replace', 'speedUp', 'abort', 'again'), {
    maxLength: 3,
  }),
})

const aside = fc.constantFrom('resync' as const, 'hold' as const, 'foreign' as const, 'drain' as const)

export const plan = fc.record({
  rules: fc.constantFrom('base' as const, 'geth' as const),
  orders: fc.array(order, { minLength: 1, maxLength: 4 }),
  asides: fc.array(aside, { maxLength: 2 }),
  luck,
  picks: fc.integer({ min: 20, max: 250 }),
})
export type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never

/** Every action of the caller waits for the schedule as well, so it begins in any order, at any time. */
export function begin(
  world: World,
  caller: Caller,
  { orders, asides }: Pick<Plan, 'orders' | 'asides'>,
): void {
  const later = (label: string, work: () => unknown) => void world.gates.pass(label).then(work)
  orders.forEach(({ changes, ...options }, index) => {
    const marker = index + 1
    later(`send ${marker}`, () => {
      void caller.send(marker, options)
      for (const change of changes) later(`${change} ${marker}`, () => apply(caller, marker, change, options))
    })
  })
  asides.forEach((what, index) => {
    later(what, () => {
      if (what === 'foreign') return world.foreign(index + 1)
      if (what !== 'hold') return caller.ask(what, (sender) => sender[what]())
      void caller.ask('pause', async (sender) => sender.pause())
      later('resume', () => caller.ask('resume', async (sender) => sender.resume()))
    })
  })
}

function apply(caller: Caller, marker: number, change: Change, options: object): unknown {
  if (change === 'again') return caller.send(marker, options)
  if (change === 'replace') return caller.replace(marker, marker + 100)
  return caller[change](marker)
}
