import { type Hex, keccak256 } from 'viem'
import { expect, test, vi } from 'vitest'
import { memoryStore } from '../../src/index.js'
import { allocatorWorld } from './allocatorSupport.js'
import { sign } from './devnetSupport.js'

const world = allocatorWorld()
const { fresh, allocatorOf, senderOf, submit } = world

function codeReads(): number {
  return world.devnet.stats.byMethod.eth_getCode ?? 0
}

test('concurrent reservations are distinct and consecutive', async () => {
  const allocator = allocatorOf(fresh())
  const reservations = await Promise.all(Array.from({ length: 20 }, () => allocator.reserve()))
  expect(reservations.map((one) => one.nonce).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 20 }, (_, n) => n),
  )
})

test('the first reservations of two allocators of one account share one start', async () => {
  const account = fresh()
  const before = codeReads()
  const [a, b] = [allocatorOf(account), allocatorOf(account)]
  const all = await Promise.all([a.reserve(), b.reserve(), a.reserve(), b.reserveMany(3)])
  expect(new Set(all.flat().map((one) => one.nonce)).size).toBe(6)
  // Two readings, of which the lower counts. Each reads the code at latest and at pending.
  expect(codeReads() - before).toBe(4)
})

test('a failed first reading rejects its waiting reservations, and the next reservation reads again', async () => {
  const fault = world.devnet.faults.inject({ fault: 'httpStatus', method: 'eth_getCode' })
  const allocator = allocatorOf(fresh())
  const failed = await Promise.allSettled([allocator.reserve(), allocator.reserve()])
  expect(failed.map((one) => one.status)).toEqual(['rejected', 'rejected'])
  expect(() => allocator.snapshot()).toThrow('ready()')
  fault.remove()
  expect((await allocator.reserve()).nonce).toBe(0)
})

test('committed bytes that land are followed to their verdict, and are found by id and hash', async () => {
  const account = fresh()
  const allocator = allocatorOf(account)
  const sender = senderOf(account)
  const reservation = await allocator.reserve()
  const raw = await sign(world.devnet, account, reservation.nonce)
  await reservation.commit({ serializedTransaction: raw })
  const hash = await submit(raw)
  await reservation.settle()
  const tx = await sender.get({ hash })
  expect(tx?.id).toBe(`outside:${hash}`)
  expect(tx?.stage).toBe('accepted')
  const landed = await tx?.wait('sealed')
  expect(landed).toMatchObject({ stage: 'sealed', status: 'success', nonce: 0, hash })
  await sender.drain()
  expect(allocator.snapshot()).toMatchObject({ floor: 1, cursor: 1, holes: [] })
})

test('committed bytes that were never sent are sent by the lane, without a signer', async () => {
  const account = fresh()
  const allocator = allocatorOf(account, { limits: { stuckAfterMs: 200, stuckAfterBlocks: 1 } })
  const reservation = await allocator.reserve()
  await reservation.commit({ serializedTransaction: await sign(world.devnet, account, 0) })
  await vi.waitFor(() => expect(allocator.snapshot().floor).toBe(1), { timeout: 10_000 })
})

test('committed bytes are in the store before commit resolves', async () => {
  const account = fresh()
  const store = memoryStore()
  let open = () => {}
  let gate = Promise.resolve()
  const allocator = allocatorOf(account, {
    store: { ...store, write: (...given) => gate.then(() => store.write(...given)) },
  })
  const reservation = await allocator.reserve()
  gate = new Promise((resolve) => {
    open = resolve
  })
  let resolved = false
  const committing = reservation
    .commit({ serializedTransaction: await sign(world.devnet, account, 0) })
    .then(() => {
      resolved = true
    })
  // Longer than any commit takes, because the chain moves on.
  await world.devnet.seal()
  await world.devnet.seal()
  expect(resolved).toBe(false)
  open()
  await committing
})

test('committed bytes of an earlier life are sent by the next one', async () => {
  const account = fresh()
  const store = memoryStore()
  const before = allocatorOf(account, { store })
  const reservation = await before.reserve()
  await reservation.commit({ serializedTransaction: await sign(world.devnet, account, 0) })
  await before.close()
  const sender = senderOf(account, { store })
  const { items } = await sender.list()
  const tx = await sender.get(items[0]?.id ?? '')
  expect(await tx?.wait('sealed')).toMatchObject({ nonce: 0, status: 'success' })
  await expect(
    reservation.commit({ serializedTransaction: await sign(world.devnet, account, 0) }),
  ).rejects.toMatchObject({
    code: 'CLOSED',
    fate: 'notExecuted',
  })
})

test('different bytes for the same reservation are another attempt of the same transaction', async () => {
  const account = fresh()
  const allocator = allocatorOf(account)
  const sender = senderOf(account)
  const reservation = await allocator.reserve()
  const first = await sign(world.devnet, account, 0, { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n })
  const second = await sign(world.devnet, account, 0)
  await reservation.commit({ serializedTransaction: first })
  await reservation.commit({ serializedTransaction: first })
  await reservation.commit({ serializedTransaction: second })
  const hash = await submit(second)
  const tx = await sender.get({ hash: keccak256(first) })
  expect(tx?.attempts.map((attempt) => attempt.hash)).toEqual([keccak256(first), hash])
  await expect(tx?.speedUp()).rejects.toMatchObject({ code: 'UNSUPPORTED' })
  expect(await tx?.wait('sealed')).toMatchObject({ hash, nonce: 0 })
})

test('a released nonce is handed out again, lowest first', async () => {
  const allocator = allocatorOf(fresh())
  const [a, b, c, d] = await allocator.reserveMany(4)
  await c?.release()
  await a?.release()
  await a?.release()
  expect(allocator.snapshot().holes).toEqual([0, 2])
  expect((await allocator.reserve()).nonce).toBe(0)
  expect((await allocator.reserve()).nonce).toBe(2)
  expect((await allocator.reserve()).nonce).toBe(4)
  expect([b?.nonce, d?.nonce]).toEqual([1, 3])
})

test('a nonce that was committed or settled cannot be released', async () => {
  const account = fresh()
  const allocator = allocatorOf(account)
  const [a, b, c] = await allocator.reserveMany(3)
  await a?.commit({ serializedTransaction: await sign(world.devnet, account, 0) })
  await expect(a?.release()).rejects.toMatchObject({ code: 'TOO_LATE', fate: 'inFlight' })
  await b?.settle(new Error('socket hang up'))
  await expect(b?.release()).rejects.toMatchObject({ code: 'TOO_LATE', fate: 'inFlight' })
  await c?.[Symbol.asyncDispose]()
  await expect(c?.release()).rejects.toMatchObject({ code: 'TOO_LATE', fate: 'inFlight' })
  expect((await allocator.reserve()).nonce).toBe(3)
})

/** The devnet rejects the signature of these bytes from every sender. */
function refuseSignature(raw: Hex): void {
  const message = 'invalid sender: invalid transaction v, r, s values'
  const own = keccak256(raw)
  world.devnet.faults.inject({ fault: 'rpcError', code: -32_000, message, match: ({ hash }) => hash === own })
}

test('an intrinsic refusal frees the nonce, and ends the committed transaction', async () => {
  const account = fresh()
  const allocator = allocatorOf(account)
  const sender = senderOf(account)
  const reservation = await allocator.reserve()
  const raw = await sign(world.devnet, account, 0)
  refuseSignature(raw)
  await reservation.commit({ serializedTransaction: raw })
  const refusal = await submit(raw).then(
    () => undefined,
    (error: unknown) => error,
  )
  await reservation.settle(refusal)
  expect((await allocator.reserve()).nonce).toBe(0)
  const { items } = await sender.list()
  expect(items).toMatchObject([{ stage: 'failed' }])
})

test('an intrinsic refusal of a resend by the lane frees no nonce, because the bytes may have been sent before', async () => {
  const account = fresh()
  const allocator = allocatorOf(account, { limits: { stuckAfterMs: 100, stuckAfterBlocks: 1 } })
  const reservation = await allocator.reserve()
  const raw = await sign(world.devnet, account, 0)
  refuseSignature(raw)
  await reservation.commit({ serializedTransaction: raw })
  const sends = () => world.devnet.stats.byMethod.eth_sendRawTransaction ?? 0
  const before = sends()
  await vi.waitFor(() => expect(sends()).toBeGreaterThan(before), { timeout: 10_000 })
  // Once a later request of the lane was answered, the lane has processed the answer.
  await allocator.resync()
  expect(allocator.snapshot()).toMatchObject({ cursor: 1, holes: [], inFlight: 1 })
})

test('bytes of another nonce, chain or account are refused, and nothing is recorded', async () => {
  const [account, other] = [fresh(), fresh()]
  const allocator = allocatorOf(account)
  const reservation = await allocator.reserve()
  const commit = async (raw: Promise<Hex>) => reservation.commit({ serializedTransaction: await raw })
  await expect(commit(sign(world.devnet, account, 1))).rejects.toMatchObject({ code: 'INVALID' })
  await expect(commit(sign(world.devnet, other, 0))).rejects.toMatchObject({ code: 'INVALID' })
  await expect(commit(sign(world.devnet, account, 0, { chainId: 1 }))).rejects.toMatchObject({
    code: 'CHAIN_MISMATCH',
  })
  await expect(reservation.commit({ serializedTransaction: '0x' })).rejects.toMatchObject({ code: 'INVALID' })
  await expect(reservation.commit({ payload: '0x12' })).rejects.toMatchObject({ code: 'INVALID' })
  await reservation.release()
  expect(allocator.snapshot().cursor).toBe(0)
})

test('a nonce that stays silent is reported as a gap if no signer is available', async () => {
  const allocator = allocatorOf(fresh(), { limits: { reservationTtlMs: 100 } })
  const gap = new Promise((resolve) => allocator.on('gap', resolve))
  await allocator.reserve()
  expect(await gap).toMatchObject({ nonce: 0 })
  // It may have been sent, so it is not handed out again.
  expect((await allocator.reserve()).nonce).toBe(1)
})

test('a nonce that stays silent is filled if a sender shares the lane', async () => {
  const account = fresh()
  const allocator = allocatorOf(account, { limits: { reservationTtlMs: 100 } })
  await allocator.reserve()
  const sender = senderOf(account)
  const tx = await sender.send({ to: account.address, gas: 21_000n })
  expect(tx.nonce).toBe(1)
  await tx.wait('sealed')
  await sender.drain()
  expect((await sender.snapshot()).floor).toBe(2)
})
