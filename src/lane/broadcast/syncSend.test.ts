import { describe, expect, test } from 'vitest'
import { openLane, type SimLane, type SimLaneOptions, transfer } from '../../api/sender/simLane.fixture.js'
import type { RpcFailure, RpcReply } from '../../rpc/port.js'
import { SEND_SYNC } from '../../rpc/sendSync.js'
import type { SendOptions } from '../../types/index.js'
import { RECEIPT_WITHIN } from '../transaction/txInternals.js'
import { type SyncFault, type SyncSend, TOO_SHORT, withSendSync } from './syncNode.fixture.js'

const BLOCK_MS = 1_000
const GETH = { rules: 'geth', blockTimeMs: BLOCK_MS } as const

type Node = { readonly sends: SyncSend[]; readonly requests: string[][] } & Omit<
  Parameters<typeof withSendSync>[2],
  'sends' | 'requests'
>

/** A lane at an endpoint with the sync send, which it does not know yet. */
async function open(options: SimLaneOptions = {}, own: Partial<Node> = {}) {
  const node: Node = { sends: [], requests: [], client: 'Geth/v1.17.10', ...own }
  const lane = await openLane({
    chain: GETH,
    around: (port, clock) => withSendSync(port, clock, node),
    ...options,
  })
  return { lane, node }
}

const awaited = (ms = 5_000) => ({ [RECEIPT_WITHIN]: ms }) as SendOptions

/** Sends as the Sync forms of viem's actions do. */
async function sendSync(lane: SimLane, marker: number, ms?: number) {
  const tx = await lane.settle(lane.sender.send(transfer(marker), awaited(ms)))
  return lane.settle(tx.wait('preconfirmed'))
}

/** A lane whose first transaction has made it ask the endpoint. */
async function opened(options: SimLaneOptions = {}, own: Partial<Node> = {}) {
  const world = await open(options, own)
  await sendSync(world.lane, 1)
  await world.lane.blocks(1)
  world.node.sends.splice(0)
  return world
}

const profileOf = (lane: SimLane) =>
  lane.events('endpoint').at(-1)?.profile as { sendSync?: unknown } | undefined
const methods = (node: Node, from = 0) => node.requests.slice(from).flat()
const sendsIn = (node: Node, from = 0) =>
  methods(node, from).filter((one) => one === 'eth_sendRawTransaction')

describe('a single transaction whose caller waits for its receipt', () => {
  test('has its receipt from the answer to its send, without another request for it', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    const from = node.requests.length
    const landed = await sendSync(lane, 2)
    expect(landed).toMatchObject({ stage: 'preconfirmed', status: 'success', nonce: 1 })
    expect(landed.receipt).toMatchObject({ transactionHash: landed.hash, blockHash: lane.chain.head.hash })
    expect(node.sends.map(({ nonce }) => nonce)).toEqual([1])
    expect(sendsIn(node, from)).toEqual([])
    expect(methods(node, from)).not.toContain('eth_getTransactionReceipt')
  })

  test('is sealed by the walk, with the same receipt', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    const tx = await lane.settle(lane.sender.send(transfer(2), awaited()))
    const { receipt } = await lane.settle(tx.wait('preconfirmed'))
    const from = node.requests.length
    const sealed = await lane.settle(tx.wait('sealed'))
    expect(sealed).toMatchObject({ stage: 'sealed', receipt: { ...receipt } })
    expect(methods(node, from)).not.toContain('eth_getTransactionReceipt')
  })

  test('is sent so the first time too, if the endpoint has answered the probe while the gas is estimated', async () => {
    const { lane, node } = await open()
    await using _ = lane
    const { gas: _gas, ...request } = transfer(1)
    const tx = await lane.settle(lane.sender.send(request as never, awaited()))
    expect(await lane.settle(tx.wait('preconfirmed'))).toMatchObject({ status: 'success' })
    expect(node.sends.map(({ nonce }) => nonce)).toEqual([0])
  })

  test('is sent so if `wait` was called before the bytes left', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    const { gas: _gas, ...request } = transfer(2)
    const tx = await lane.settle(lane.sender.send(request as never, { until: 'queued' }))
    const landed = await lane.settle(tx.wait('sealed'))
    expect(node.sends.map(({ nonce }) => nonce)).toEqual([1])
    expect(landed.receipt.transactionHash).toBe(tx.hash)
  })

  test('asks the node to wait for 6 s at most, and no longer than its caller waits', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    for (const [marker, ms] of [
      [2, 90_000],
      [3, 2_500],
    ] as const) {
      await sendSync(lane, marker, ms)
      await lane.blocks(1)
    }
    expect(node.sends.map(({ timeoutMs }) => timeoutMs)).toEqual([6_000, 2_500])
  })
})

describe('transactions that are sent in the ordinary way', () => {
  test('include transactions for whose receipt no caller waits', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    await lane.settle(lane.sender.send(transfer(2)))
    await lane.settle(lane.sender.send(transfer(3), { until: 'queued' }))
    expect(node.sends).toEqual([])
  })

  test('include the transactions of a burst, in batches', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    const from = node.requests.length
    const all = Array.from({ length: 50 }, (_, index) => lane.sender.send(transfer(index + 2), awaited()))
    for (const tx of await lane.settle(Promise.all(all))) await lane.settle(tx.wait('preconfirmed'))
    expect(node.sends).toEqual([])
    expect(sendsIn(node, from)).toHaveLength(50)
  })

  test('include transactions behind which the lane has more to sign', async () => {
    let signatures = 0
    const { lane, node } = await opened({ signMs: () => (signatures++ < 2 ? 0 : 200) })
    await using _ = lane
    const all = [2, 3].map((marker) => lane.sender.send(transfer(marker), awaited()))
    for (const tx of await lane.settle(Promise.all(all))) await lane.settle(tx.wait('preconfirmed'))
    expect(node.sends.map(({ nonce }) => nonce)).not.toContain(1)
  })

  test('include transactions that come while a sync send is open, and do not wait for its answer', async () => {
    const { lane, node } = await opened({ chain: { ...GETH, blockTimeMs: 12_000 } })
    await using _ = lane
    const first = lane.sender.send(transfer(2), awaited())
    await lane.until(() => node.sends.length === 1)
    const others = [3, 4, 5].map((marker) => lane.sender.send(transfer(marker), awaited()))
    const sentMs = lane.clock.now()
    await lane.settle(Promise.all(others))
    expect(lane.clock.now() - sentMs).toBeLessThan(100)
    await lane.settle((await lane.settle(first)).wait('sealed'))
    expect(node.sends).toHaveLength(1)
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
    // One copy of each (D6).
    expect(lane.sent.map(({ nonce }) => nonce)).toEqual([0, 1, 2, 3, 4])
  })

  test('are all at an endpoint without the method, which is asked once', async () => {
    const missing: RpcReply = failed({
      kind: 'rpc',
      code: -32_601,
      message: `the method ${SEND_SYNC} does not exist/is not available`,
    })
    const { lane, node } = await open({}, { probe: () => missing })
    await using _ = lane
    for (const marker of [1, 2, 3]) expect(await sendSync(lane, marker)).toMatchObject({ status: 'success' })
    expect(node.sends).toEqual([])
    expect(methods(node).filter((method) => method === SEND_SYNC)).toHaveLength(1)
    expect(profileOf(lane)).toMatchObject({ sendSync: false })
  })
})

const failed = (failure: RpcFailure): RpcReply => ({ ok: false, failure })
const says = (code: number, message: string, data?: unknown): RpcReply =>
  failed({ kind: 'rpc', code, message, ...(data === undefined ? {} : { data }) })

const NO_ANSWER = failed({ kind: 'network', message: 'socket hang up' })
const OTHER_HASH = `0x${'ab'.repeat(32)}`

/** The answer of the node instead of the receipt, and what the profile says of the method afterwards. */
const FAULTS: Record<string, SyncFault & { readonly sendSync: boolean }> = {
  'is lost, after the bytes arrived': { answer: () => NO_ANSWER, sendSync: true },
  'is lost, with the bytes': { answer: () => NO_ANSWER, added: false, sendSync: true },
  'is code 4': { answer: () => says(4, "wasn't processed in 10ms"), sendSync: true },
  'is code 5, although the bytes are pooled': {
    answer: () => says(5, 'not ready', OTHER_HASH),
    sendSync: true,
  },
  'is code 5, and the bytes are not pooled': {
    answer: () => says(5, 'not ready'),
    added: false,
    sendSync: true,
  },
  'is code 6': { answer: () => says(6, 'nonce gap', '0x1'), added: false, sendSync: true },
  'has an unknown code': {
    answer: () => says(-39_999, 'the stars are not right'),
    added: false,
    sendSync: false,
  },
  'is -32601, later in the life of the endpoint': {
    answer: () => says(-32_601, `the method ${SEND_SYNC} does not exist`),
    added: false,
    sendSync: false,
  },
  'refuses the timeout': {
    answer: () => says(-32_602, 'timeout 6000ms exceeds the maximum of 2000ms'),
    added: false,
    sendSync: false,
  },
  'is HTTP 403': {
    answer: () => failed({ kind: 'http', status: 403, message: 'Forbidden' }),
    added: false,
    sendSync: false,
  },
  'is HTTP 504 of a proxy': {
    answer: () => failed({ kind: 'http', status: 504, message: 'Gateway Timeout' }),
    sendSync: true,
  },
  'is the receipt of another transaction': {
    answer: (receipt) => receipt().then((reply) => changed(reply, { transactionHash: OTHER_HASH })),
    sendSync: true,
  },
  'is a receipt without a status and a block': {
    answer: (receipt) =>
      receipt().then((reply) => changed(reply, { status: undefined, blockNumber: undefined })),
    sendSync: true,
  },
  'is no object': { answer: () => ({ ok: true, result: 7 }), sendSync: true },
  'is null': { answer: () => ({ ok: true, result: null }), sendSync: true },
  'is the hash': { answer: () => ({ ok: true, result: OTHER_HASH }), sendSync: true },
  'is a refusal that passes': {
    answer: () => says(-32_000, 'txpool is full'),
    added: false,
    sendSync: true,
  },
}

function changed(reply: RpcReply, fields: object): RpcReply {
  return reply.ok ? { ok: true, result: { ...(reply.result as object), ...fields } } : reply
}

describe('an answer to a sync send', () => {
  test.each(Object.entries(FAULTS))('that %s frees no nonce and loses nothing', async (_, fault) => {
    const { lane, node } = await opened()
    await using _lane = lane
    node.fault = fault
    const landed = await sendSync(lane, 2)
    expect(landed).toMatchObject({ nonce: 1, status: 'success' })
    expect(node.sends).toHaveLength(1)
    node.fault = undefined
    expect(await sendSync(lane, 3)).toMatchObject({ nonce: 2, status: 'success' })
    expect(lane.executed()).toEqual([1, 2, 3])
    // The next one is sent so again, unless the answer was about the method.
    await lane.blocks(2)
    await sendSync(lane, 4)
    expect(node.sends.length > 1).toBe(fault.sendSync)
  })

  test('that ends the transaction gives its error', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    node.fault = {
      added: false,
      answer: () => says(-32_000, 'max priority fee per gas higher than max fee per gas'),
    }
    const error = await lane.rejection(lane.sender.send(transfer(2), awaited()))
    expect(error).toMatchObject({ code: 'REJECTED', fate: 'notExecuted' })
    expect(node.sends).toHaveLength(1)
  })

  test('that names a block which the chain does not have is withdrawn, and the transaction lands', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    node.fault = {
      added: false,
      answer: () => ({ ok: true, result: inventedReceipt(lane) }),
    }
    const tx = await lane.settle(lane.sender.send(transfer(2), awaited()))
    const invented = await lane.settle(tx.wait('preconfirmed'))
    expect(invented.receipt?.blockHash).toBe(OTHER_HASH)
    const landed = await lane.settle(tx.wait('sealed'))
    expect(lane.chain.canonical.map(({ hash }) => hash)).toContain(landed.receipt.blockHash)
    expect(lane.executed()).toEqual([1, 2])
  })

  test('from an endpoint that may pre-confirm has no block hash before the walk', async () => {
    const { lane } = await opened({}, { client: 'unknown' })
    await using _ = lane
    const tx = await lane.settle(lane.sender.send(transfer(2), awaited()))
    expect((await lane.settle(tx.wait('preconfirmed'))).receipt).toMatchObject({ blockHash: null })
    expect((await lane.settle(tx.wait('sealed'))).receipt.blockHash).toBe(lane.chain.head.hash)
  })

  test('with the receipt of a block that is not sealed yet has no block hash', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    const pending = { blockHash: `0x${'0'.repeat(64)}` }
    node.fault = { answer: (receipt) => receipt().then((reply) => changed(reply, pending)) }
    const tx = await lane.settle(lane.sender.send(transfer(2), awaited()))
    expect((await lane.settle(tx.wait('preconfirmed'))).receipt).toMatchObject({ blockHash: null })
    expect((await lane.settle(tx.wait('sealed'))).receipt.blockHash).toBe(lane.chain.head.hash)
  })

  test('that is missing three times in a row ends the sync sends to the endpoint', async () => {
    const { lane, node } = await opened()
    await using _ = lane
    node.fault = { answer: () => NO_ANSWER }
    for (const marker of [2, 3, 4, 5]) {
      await sendSync(lane, marker)
      await lane.blocks(2)
    }
    expect(node.sends).toHaveLength(3)
    expect(lane.executed()).toEqual([1, 2, 3, 4, 5])
  })
})

/** A receipt of the newest transaction in a block that is not on the chain. */
function inventedReceipt(lane: SimLane): object {
  const [tx] = lane.sender.inFlight()
  return {
    transactionHash: tx?.hash,
    blockHash: OTHER_HASH,
    blockNumber: `0x${(lane.chain.head.number + 1).toString(16)}`,
    status: '0x1',
    gasUsed: '0x5208',
    logs: [],
  }
}

describe('the probe', () => {
  test.each([
    ['answers empty bytes with the words of an ordinary send', undefined, true],
    [
      'takes no timeout',
      (params: readonly unknown[]) =>
        params.length > 1 ? says(-32_602, 'invalid type: integer') : TOO_SHORT,
      'withoutTimeout',
    ],
    ['refuses the method', () => says(-32_000, 'unsupported method'), false],
    ['does not answer', () => NO_ANSWER, undefined],
    ['is limited', () => says(-32_005, 'rate limit exceeded'), undefined],
  ])('shows an endpoint that %s', async (_, probe, sendSyncNow) => {
    const { lane } = await open({}, { probe })
    await using _lane = lane
    await sendSync(lane, 1)
    expect(profileOf(lane)?.sendSync).toBe(sendSyncNow)
  })
})
