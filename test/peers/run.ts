import type { DevnetOptions } from '../../tools/devnet/index.js'
import { createAsks } from './asks.js'
import { judge, type Verdict } from './judge.js'
import type { Asked, Driver, Scenario, Stage, Subject, World } from './types.js'
import { openWorld } from './world.js'

/**
 * In ticks: the quiet time after which open payments count as open forever, and the longest run. A sender may
 * take a block for certain only once it has stood for 2 s.
 */
const QUIET_TICKS = 90
const RUN_TICKS = 600

export type Outcome =
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  /** The sender does not offer the feature that the scenario tests. */
  | { readonly kind: 'notOffered' }

/** The chain of a run: its kind, and a chain whose state is its start. */
export type RunChain = Pick<DevnetOptions, 'mode' | 'forkUrl'>

/** Runs one scenario with one sender, on a separate chain. */
export async function runOne(options: {
  readonly scenario: Scenario
  readonly subject: Subject
  /** Collects errors that would have ended the process. */
  readonly crashes: readonly string[]
  readonly chain: RunChain
}): Promise<Outcome> {
  const { scenario, subject } = options
  if (scenario.needs !== undefined && !subject.offers.includes(scenario.needs)) return { kind: 'notOffered' }
  const opened = await openWorld({
    ...(scenario.nonce === undefined ? {} : { nonce: scenario.nonce }),
    chain: { ...scenario.chain, ...options.chain },
  })
  try {
    const { world } = opened
    const found: string[] = []
    const asks = createAsks()
    asks.made((await scenario.prepare?.(world)) ?? [])
    const drivers: Driver[] = []
    const stage = createStage({ world, subject, drivers, asks, found })
    if (!scenario.cold) await stage.driver.ready?.()
    const ended = await play(scenario, stage, asks.all)
    if (!ended) found.push('no end')
    world.release()
    // Copied before the senders are closed, because rejections that closing causes are no crash.
    const crashes = [...options.crashes]
    if (crashes.length > 0) found.push('process would crash')
    const faultsOfClose = await Promise.allSettled(drivers.map((driver) => driver.close()))
    for (const close of faultsOfClose) if (close.status === 'rejected') found.push('close failed')
    await world.ticks(4)
    const evidence = await opened.evidence()
    const { refusalsMax = 0 } = scenario
    const verdict = judge({ asked: asks.all, evidence, refusalsMax, found })
    return { kind: 'verdict', verdict: { ...verdict, details: [...verdict.details, ...crashes] } }
  } finally {
    await opened.stop()
  }
}

function createStage(parts: {
  readonly world: World
  readonly subject: Subject
  readonly drivers: Driver[]
  readonly asks: ReturnType<typeof createAsks>
  readonly found: string[]
}): Stage {
  const { world, subject, drivers, asks, found } = parts
  function open(): Driver {
    const driver = subject.open(world)
    drivers.push(driver)
    return driver
  }
  const driver = open()
  return {
    world,
    driver,
    open,
    pay: (fields = {}) => asks.pay(fields.by ?? driver, fields),
    payAgain: (asked) => asks.payAgain(driver, asked),
    find: (words) => void found.push(words),
  }
}

/** Resolves to false if the run had to be aborted. */
async function play(scenario: Scenario, stage: Stage, asked: readonly Asked[]): Promise<boolean> {
  const { world } = stage
  let over = false
  const story = scenario.run(stage).then(async () => {
    world.release()
    await settle(world, asked)
    return true
  })
  const bound = world.ticks(RUN_TICKS).then(() => over)
  const ended = await Promise.race([story, bound])
  over = true
  return ended
}

/** Waits until every caller has an answer, or until chain and requests are quiet. */
async function settle(world: World, asked: readonly Asked[]): Promise<void> {
  await Promise.all(asked.map(({ sent }) => sent))
  const ends = asked.map(({ ended }) => ended)
  let left = ends.length
  for (const end of ends) void end.then(() => (left -= 1))
  let before = ''
  for (let quiet = 0; quiet < QUIET_TICKS && left > 0; quiet += 1) {
    await world.ticks(1)
    const now = `${left} ${world.sends()} ${(await world.pooled()).length}`
    if (now !== before) quiet = 0
    before = now
  }
}
