import { pad } from 'viem'
import { describe, expect, test } from 'vitest'
import { createSenderIn } from '../api/sender/sender.js'
import { ACCOUNT, openLane, type SimLane, transfer } from '../api/sender/simLane.fixture.js'
import type { TxlaneErrorCode } from '../errors/base.js'
import { memoryStore } from '../store/memory.js'
import type { Sender, Tx } from '../types/index.js'

// Values that the types forbid and JavaScript accepts.
type Loose = Record<string, (...parameters: unknown[]) => unknown>
type Case = readonly [
  what: string,
  argument: string,
  code: TxlaneErrorCode,
  call: (sender: Loose, tx: Loose) => unknown,
]

const TO = `0x${'11'.repeat(20)}`
const WRONG_CHECKSUM = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96046'
const REQUEST = { to: TO, value: 1n, gas: 21_000n }
const ABI = [
  { type: 'function', name: 'f', inputs: [{ type: 'uint256' }], outputs: [], stateMutability: 'nonpayable' },
]

/** Calls `send` with one bad field of the request, and with one bad option. */
const field = (
  name: string,
  value: unknown,
  code: TxlaneErrorCode = 'INVALID',
  argument = `request.${name}`,
): Case => [
  `request.${name} = ${show(value)}`,
  argument,
  code,
  (sender) => sender.send?.({ ...REQUEST, [name]: value }),
]
const option = (name: string, value: unknown, argument = `options.${name}`): Case => [
  `options.${name} = ${show(value)}`,
  argument,
  'INVALID',
  (sender) => sender.send?.(REQUEST, { [name]: value }),
]
const call = (what: string, argument: string, run: Case[3], code: TxlaneErrorCode = 'INVALID'): Case => [
  what,
  argument,
  code,
  run,
]

function show(value: unknown): string {
  return (
    JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))?.slice(0, 60) ??
    String(value)
  )
}

const CASES: readonly Case[] = [
  ...[undefined, null, 'x', 42, []].map((value) =>
    call(`send(${show(value)})`, 'request', (s) => s.send?.(value)),
  ),
  ...['0x12', 5, TO.slice(2), WRONG_CHECKSUM, 'vitalik.eth'].map((value) => field('to', value)),
  ...[-1n, 1, '1', 1.5, 2n ** 256n, Number.NaN].map((value) => field('value', value)),
  ...[21_000, 0n, -1n, 2n ** 64n].map((value) => field('gas', value)),
  ...['0xabc', 'hello', 5, '0xzz'].map((value) => field('data', value)),
  ...[1, 'yes', null].map((value) => option('private', value)),
  ...[1, -1n, '5'].map((value) => field('maxFeePerGas', value)),
  ...[1, -1n].map((value) => field('maxPriorityFeePerGas', value)),
  ...[1, -1n].map((value) => field('gasPrice', value)),
  ...[7, 'x'].map((value) => field('accessList', value)),
  field('accessList', [{ address: '0x1', storageKeys: [] }]),
  field('nonce', 5),
  field('type', 'eip9999'),
  field('account', `0x${'22'.repeat(20)}`),
  field('from', `0x${'22'.repeat(20)}`, 'INVALID', 'request.account'),
  field('chain', { id: 1 }, 'CHAIN_MISMATCH'),
  field('chainId', 1, 'CHAIN_MISMATCH', 'request.chain'),
  field('blobs', ['0x00'], 'UNSUPPORTED', 'blob'),
  field('type', 'eip4844', 'UNSUPPORTED', 'blob'),
  field('type', 'eip712', 'UNSUPPORTED', 'zkSync'),
  field('paymaster', TO, 'UNSUPPORTED', 'zkSync'),
  field('authorizationList', [], 'UNSUPPORTED', 'authorizationList'),
  ...[0n, 1n, 'expiring'].map((value) => field('nonceKey', value, 'UNSUPPORTED')),
  ...['validBefore', 'validAfter'].map((name) => field(name, 1_900_000_000, 'UNSUPPORTED')),
  call(
    'replace, nonceKey',
    'request.nonceKey',
    (_, tx) => tx.replace?.({ ...REQUEST, nonceKey: 1n }),
    'UNSUPPORTED',
  ),
  call('both kinds of fees', 'request.gasPrice', (s) =>
    s.send?.({ ...REQUEST, gasPrice: 1n, maxFeePerGas: 1n }),
  ),
  call('a tip above the cap', 'request.maxPriorityFeePerGas', (s) =>
    s.send?.({ ...REQUEST, maxFeePerGas: 1n, maxPriorityFeePerGas: 2n }),
  ),
  call('neither to nor data', 'request.to', (s) => s.send?.({ value: 1n })),
  ...[null, 'x', 5].map((value) =>
    call(`send(request, ${show(value)})`, 'options', (s) => s.send?.(REQUEST, value)),
  ),
  ...['', 5, 'x'.repeat(257), 'outside:1', {}].map((value) => option('id', value)),
  ...['', ' ', 5, null, 'a\nb', 'a\u202eb', '\ud800', 'x'.repeat(129)].map((value) => option('group', value)),
  ...['sealed', 1, null].map((value) => option('until', value)),
  ...[5, null, []].map((value) => option('expires', value)),
  ...['soon', Number.NaN, Number.POSITIVE_INFINITY].map((atMs) =>
    option('expires', { atMs }, 'options.expires.atMs'),
  ),
  option('onExpiry', 'die'),
  ...[{}, 5, null].map((value) => option('signal', value)),
  ...['1', Number.NaN, 1n].map((value) => option('priority', value)),
  ...[1, 0n, -1n].map((value) => option('feeCeiling', value)),
  ...['a', {}].map((value) => option('after', value)),
  option('after', [5], 'options.after[0]'),
  option('afterStage', 'queued'),
  option('afterStatus', 'maybe'),
  ...['0x1', WRONG_CHECKSUM].map((value) => option('deploys', value)),
  option('effect', {}, 'options.effect.address'),
  option('effect', { address: TO, slot: 'x', value: '0x' }, 'options.effect.slot'),
  option('effect', { address: TO, slot: '0x0', value: '0x1' }, 'options.effect.value'),
  option('effect', { address: TO, slot: '0x0', value: pad('0x1'), getter: '0x1' }, 'options.effect.getter'),
  ...[null, 5].map((value) =>
    call(`writeContract(${show(value)})`, 'parameters', (s) => s.writeContract?.(value)),
  ),
  call('writeContract without an abi', 'parameters.abi', (s) =>
    s.writeContract?.({ address: TO, functionName: 'f' }),
  ),
  call('writeContract without an address', 'parameters.address', (s) =>
    s.writeContract?.({ abi: ABI, functionName: 'f' }),
  ),
  call('writeContract, no such function', 'parameters', (s) =>
    s.writeContract?.({ abi: ABI, address: TO, functionName: 'g', args: [] }),
  ),
  call('writeContract, wrong arguments', 'parameters.args', (s) =>
    s.writeContract?.({ abi: ABI, address: TO, functionName: 'f', args: ['x'] }),
  ),
  call('writeContract from another account', 'parameters.account', (s) =>
    s.writeContract?.({
      abi: ABI,
      address: TO,
      functionName: 'f',
      args: [1n],
      account: `0x${'22'.repeat(20)}`,
    }),
  ),
  call(
    'writeContract on another chain',
    'request.chain',
    (s) => s.writeContract?.({ abi: ABI, address: TO, functionName: 'f', args: [1n], chain: { id: 1 } }),
    'CHAIN_MISMATCH',
  ),
  call('deployContract without bytecode', 'parameters.bytecode', (s) => s.deployContract?.({ abi: [] })),
  call('deployContract, bytecode that is none', 'parameters.bytecode', (s) =>
    s.deployContract?.({ abi: [], bytecode: 'x' }),
  ),
  ...[5, null, undefined, {}, 'x'].map((value) =>
    call(`sendMany(${show(value)})`, 'items', (s) => s.sendMany?.(value)),
  ),
  call('sendMany, until', 'options.until', (s) => s.sendMany?.([], { until: 'queued' })),
  call('sendMany, signal', 'options.signal', (s) => s.sendMany?.([], { signal: 5 })),
  call('sendMany, onProgress', 'options.onProgress', (s) => s.sendMany?.([], { onProgress: 5 })),
  call('sendMany, options', 'options', (s) => s.sendMany?.([], null)),
  ...[5, null, undefined].map((value) => call(`get(${show(value)})`, 'id', (s) => s.get?.(value))),
  ...[{}, { hash: '0x' }, { hash: 5 }].map((value) =>
    call(`get(${show(value)})`, 'hash', (s) => s.get?.(value)),
  ),
  ...[null, 5].map((value) => call(`list(${show(value)})`, 'options', (s) => s.list?.(value))),
  ...[null, 5].map((value) => call(`observe(${show(value)})`, 'seen', (s) => s.observe?.(value))),
  call('observe, hashes', 'hashes', (s) => s.observe?.({ hashes: 'x', blockNumber: 1n })),
  call('observe, a hash', 'hashes[0]', (s) => s.observe?.({ hashes: [5], blockNumber: 1n })),
  ...[5, -1n, undefined].map((blockNumber) =>
    call(`observe block ${show(blockNumber)}`, 'blockNumber', (s) =>
      s.observe?.({ hashes: [], blockNumber }),
    ),
  ),
  call('on, an event that there is not', 'event', (s) => s.on?.('landed', () => {})),
  call('on, no listener', 'listener', (s) => s.on?.('queued', 5)),
  ...[5, undefined].map((id) => call(`resolve(${show(id)})`, 'id', (s) => s.resolve?.(id, 'executed'))),
  ...['inFlight', undefined].map((fate) =>
    call(`resolve as ${show(fate)}`, 'fate', (s) => s.resolve?.('a', fate)),
  ),
  call('resolve what is not unresolved', 'id', (s) => s.resolve?.('a', 'executed')),
  call('drain, signal', 'signal', (s) => s.drain?.({ signal: 5 })),
  call('drain(null)', 'options', (s) => s.drain?.(null)),
  ...['queued', 'nope', 5, null].map((stage) =>
    call(`wait(${show(stage)})`, 'stage', (_, tx) => tx.wait?.(stage)),
  ),
  ...[Number.NaN, -1, '5', 2 ** 31].map((timeoutMs) =>
    call(`wait timeoutMs ${show(timeoutMs)}`, 'options.timeoutMs', (_, tx) =>
      tx.wait?.('sealed', { timeoutMs }),
    ),
  ),
  call('wait, signal', 'options.signal', (_, tx) => tx.wait?.('sealed', { signal: {} })),
  call('wait, options', 'options', (_, tx) => tx.wait?.('sealed', null)),
  call('wait, throwOnRevert', 'options.throwOnRevert', (_, tx) => tx.wait?.('sealed', { throwOnRevert: 1 })),
  call('replace(null)', 'request', (_, tx) => tx.replace?.(null)),
  call('replace, value', 'request.value', (_, tx) => tx.replace?.({ ...REQUEST, value: -1n })),
  call('replace, options', 'options', (_, tx) => tx.replace?.(REQUEST, null)),
  call('replace from another account', 'request.account', (_, tx) =>
    tx.replace?.({ ...REQUEST, account: `0x${'22'.repeat(20)}` }),
  ),
  ...[5, null, 'x'].map((value) => call(`speedUp(${show(value)})`, 'fees', (_, tx) => tx.speedUp?.(value))),
  call('speedUp, a number', 'fees.maxFeePerGas', (_, tx) => tx.speedUp?.({ maxFeePerGas: 5 })),
]

/** The error that a call threw or rejected with. */
async function errorOf(lane: SimLane, run: () => unknown) {
  const promise = (async () => run())()
  return lane.rejection(promise)
}

describe('every public function: bad input is a typed error that names it, with nothing sent and no nonce used', () => {
  test.each(CASES)('%s: %s', async (_, argument, code, run) => {
    await using lane = await openLane()
    lane.sender.pause()
    const tx = await lane.settle(lane.sender.send(transfer(1), { id: 'a', until: 'queued' }))
    const before = lane.requests.length
    const error = await errorOf(lane, () => run(lane.sender as unknown as Loose, tx as unknown as Loose))
    expect(error).toMatchObject({ name: 'TxlaneError', code, fate: 'notExecuted' })
    expect(error.message).toContain(argument)
    expect(lane.requests.length, 'something was asked of the node').toBe(before)
    expect(await lane.snapshot()).toMatchObject({ cursor: 0, queued: 1 })
  })
})

type Options = Record<string, unknown>
const create = (lane: SimLane, options: Options): Sender =>
  createSenderIn(lane.environment, { ...lane.parameters, ...options } as never)

const CLIENT = { transport: {}, request: () => {} }
const endpointWith = (profile: object) => ({ endpoints: [{ client: CLIENT, profile }] })

const OPTIONS: readonly (readonly [argument: string, code: TxlaneErrorCode, options: Options])[] = [
  ...[undefined, null, 5, {}, { chain: { id: 1 } }].map(
    (client) => ['client', 'INVALID', { client }] as const,
  ),
  ...['x', 5, { address: ACCOUNT }].map((account) => ['account', 'INVALID', { account }] as const),
  ['account', 'UNSUPPORTED', { account: { type: 'json-rpc', address: ACCOUNT } }],
  ['account', 'UNSUPPORTED', { account: { type: 'smart', address: ACCOUNT } }],
  ['account.address', 'INVALID', { account: { type: 'local', address: '0x1', signTransaction: () => {} } }],
  ['account', 'INVALID', { account: { type: 'local', address: ACCOUNT } }],
  ...[5, 'x', {}].map((endpoints) => ['endpoints', 'INVALID', { endpoints }] as const),
  ['endpoints[0]', 'INVALID', { endpoints: [5] }],
  ['endpoints[0].client', 'INVALID', { endpoints: [{ client: 5 }] }],
  ...Object.entries({ pending: 'sealed', pendingState: 'yes', gapBudget: 0, batchInOrder: false }).map(
    ([key, value]) => [`endpoints[0].profile.${key}`, 'INVALID', endpointWith({ [key]: value })] as const,
  ),
  ['broadcast', 'INVALID', { broadcast: 'some' }],
  ['coldStart', 'INVALID', { coldStart: 'never' }],
  ['starved', 'INVALID', { starved: true }],
  ...[0, -1, 1.5, 'deep', Number.NaN, 10_001].map(
    (lossDepth) => ['lossDepth', 'INVALID', { lossDepth }] as const,
  ),
  ...[5, null, 'tag', {}, { depth: 3, afterMs: 3 }].map(
    (finality) => ['finality', 'INVALID', { finality }] as const,
  ),
  ...Object.entries({ depth: 0, afterMs: 1.5, aftermS: 5 }).map(
    ([key, value]) => [`finality.${key}`, 'INVALID', { finality: { [key]: value } }] as const,
  ),
  ...[5, null].map((fees) => ['fees', 'INVALID', { fees }] as const),
  ['fees.ceiling', 'INVALID', { fees: { ceiling: 5 } }],
  ['fees.ceiling.maxFeePerGas', 'INVALID', { fees: { ceiling: { maxFeePerGas: 5 } } }],
  ['fees.estimate', 'INVALID', { fees: { estimate: 5 } }],
  ...[0, 1.5, 1_001, '10'].map(
    (percent) => ['fees.bump.percent', 'INVALID', { fees: { bump: { percent } } }] as const,
  ),
  ...[0, -1, '5'].map(
    (attemptsMax) => ['fees.bump.attemptsMax', 'INVALID', { fees: { bump: { attemptsMax } } }] as const,
  ),
  ...[0.5, Number.NaN, '2', 101].map(
    (gasMultiplier) => ['gasMultiplier', 'INVALID', { gasMultiplier }] as const,
  ),
  ['simulate', 'INVALID', { simulate: 'yes' }],
  ...[5, null].map((groups) => ['groups', 'INVALID', { groups }] as const),
  ['groups.other', 'INVALID', { groups: { other: {} } }],
  ['groups.each.weigth', 'INVALID', { groups: { each: { weigth: 2 } } }],
  ...[0, -1, 1_001, Number.NaN, '2'].map(
    (weight) => ['groups.each.weight', 'INVALID', { groups: { each: { weight } } }] as const,
  ),
  ...[0, 1.5, '5'].flatMap((most) => [
    ['groups.named["a"].queueMax', 'INVALID', { groups: { named: { a: { queueMax: most } } } }] as const,
    ['groups.each.inFlightMax', 'INVALID', { groups: { each: { inFlightMax: most } } }] as const,
  ]),
  ['groups.named["a"]', 'INVALID', { groups: { named: { a: 5 } } }],
  ['groups.named', 'INVALID', { groups: { named: { '': { weight: 1 } } } }],
  ['logger', 'INVALID', { logger: 5 }],
  ['logger', 'INVALID', { logger: {} }],
  ...[5, null].map((limits) => ['limits', 'INVALID', { limits }] as const),
  ['limits.windowmax', 'INVALID', { limits: { windowmax: 5 } }],
  ...[0, -1, 1.5, Number.NaN, '5', 2 ** 31].map(
    (window) => ['limits.window', 'INVALID', { limits: { window } }] as const,
  ),
  ['limits.requestsPerSecond', 'INVALID', { limits: { requestsPerSecond: 0.5 } }],
  ...[5, null, {}].map((store) => ['store', 'INVALID', { store }] as const),
  ['write()', 'INVALID', { store: { ...memoryStore(), write: undefined } }],
]

describe('createSender: options that cannot work throw at once, and nothing is asked of the node', () => {
  test.each(OPTIONS)('%s: %s (%#)', async (argument, code, options) => {
    await using lane = await openLane({ closed: true })
    const error = await errorOf(lane, () => create(lane, options))
    expect(error).toMatchObject({ name: 'TxlaneError', code, fate: 'notExecuted' })
    expect(error.message).toContain(argument)
    expect(lane.requests).toEqual([])
  })

  test('undefined is no value: every option may be undefined', async () => {
    await using lane = await openLane({ closed: true })
    const names = [
      'endpoints',
      'store',
      'fees',
      'lossDepth',
      'finality',
      'logger',
      'coldStart',
      'starved',
      'limits',
      'simulate',
    ]
    create(lane, Object.fromEntries([...names, 'gasMultiplier'].map((name) => [name, undefined])))
  })
})

describe('errors about bad input', () => {
  test('a private key that slipped into another argument is never echoed', async () => {
    await using lane = await openLane()
    const key = `0x${'42'.repeat(32)}`
    const tx = (await lane.settle(lane.sender.send(transfer(1)))) as Tx
    for (const run of [
      () => lane.sender.send({ ...transfer(1), to: key as never }),
      () => lane.sender.send({ ...transfer(1), value: key as never }),
      () => tx.wait(key as never),
      () => lane.sender.get(5 as never),
    ]) {
      const error = await errorOf(lane, run)
      expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('42424242')
    }
  })
})
