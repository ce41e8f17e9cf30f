import { describe, expect, test } from 'vitest'
import { openSeveral, type Several } from '../../api/sender/severalEndpoints.fixture.js'
import { type Script, transfer } from '../../api/sender/simLane.fixture.js'

const ONE_ETHER = 10n ** 18n

const answers =
  (method: string, value: bigint): Script =>
  (call) =>
    call.method === method ? { ok: true, result: `0x${value.toString(16)}` } : undefined

const POOR = answers('eth_getBalance', 1n)
const DEAR = answers('eth_maxPriorityFeePerGas', 10n ** 15n)

function asked(several: Several, index: number, method: string): number {
  return several.endpoints[index]?.calls.filter((call) => call.method === method).length ?? 0
}

/** Sends a transaction. Returns the holds that were reported within `forMs`. */
async function sendOne(several: Several, forMs: number): Promise<readonly unknown[]> {
  const tx = several.sender.send(transfer(1), { until: 'queued' })
  await several.lane.settle(tx)
  await several.lane.clock.advance(forMs)
  return several.events('held').map(({ reason }) => reason)
}

describe('the reader shows that the account cannot pay', () => {
  test('and another endpoint shows enough balance: no hold, the reader is suspect, and the payment lands', async () => {
    await using several = await openSeveral(['both', 'both'], {
      before: ([reader]) => {
        if (reader) reader.script = POOR
      },
    })
    expect(await sendOne(several, 20_000)).toEqual([])
    const [doubt] = several.events('endpoint').filter(({ change }) => change === 'doubtful')
    expect(doubt?.reason).toBe(
      `the endpoint shows a balance of 1 wei, and another endpoint ${ONE_ETHER.toString()}`,
    )
    expect(several.lane.executed()).toEqual([1])
  })

  test('but another endpoint shows affordable prices: no hold, and the payment is signed with those prices', async () => {
    await using several = await openSeveral(['both', 'both'], {
      before: ([reader]) => {
        if (reader) reader.script = DEAR
      },
    })
    expect(await sendOne(several, 20_000)).toEqual([])
    const tips = several.endpoints.flatMap(({ raws }) => raws).map(({ tipWei }) => tipWei)
    expect(tips.length).toBeGreaterThan(0)
    expect(tips.every((wei) => wei < 10n ** 12n)).toBe(true)
    expect(several.lane.executed()).toEqual([1])
  })

  test('and another endpoint agrees: the lane is starved, and the other endpoint was asked once', async () => {
    await using several = await openSeveral(['both', 'both'], { balanceWei: 1n })
    expect(await sendOne(several, 20_000)).toEqual(['starved'])
    expect(asked(several, 1, 'eth_getBalance')).toBe(1)
    expect(several.events('endpoint').filter(({ change }) => change === 'doubtful')).toEqual([])
  })

  test('and another endpoint does not answer: its silence denies nothing', async () => {
    await using several = await openSeveral(['both', 'both'], { balanceWei: 1n })
    const [, other] = several.endpoints
    if (other) other.state = 'refuses'
    expect(await sendOne(several, 20_000)).toEqual(['starved'])
  })

  test("starved: 'fail' ends no transaction before the other endpoints were asked", async () => {
    await using several = await openSeveral(['both', 'both'], {
      starved: 'fail',
      before: ([reader]) => {
        if (reader) reader.script = POOR
      },
    })
    expect(await sendOne(several, 20_000)).toEqual([])
    expect(several.lane.executed()).toEqual([1])
  })
})
