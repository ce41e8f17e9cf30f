import type { Address, Hash } from 'viem'
import { hashOf } from '../report.fixture.js'
import type { PayoutLine, PayoutReport } from './payout.js'

export const CHAIN: PayoutReport['chain'] = {
  id: 8453,
  name: 'Base',
  symbol: 'ETH',
  explorer: 'https://basescan.org',
}
export const ACCOUNT: Address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const BEGUN_AT = '2026-11-29T14:01:58.120Z'

const BEGUN_MS = Date.parse('2026-11-29T14:02:00Z')

type Money = PayoutLine['money']
export const ETH: Money = { symbol: 'ETH', decimals: 18, token: undefined }
export const USDC: Money = {
  symbol: 'USDC',
  decimals: 6,
  token: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
}
/** A token that pretends to be another one. */
export const FALSE_USDC: Money = { ...USDC, token: '0x00000000000000000000000000000000DeaDBeef' }

export const HOSTILE = `</script><img src=x onerror="globalThis.hacked=1"><!--<script>'`

const NOTES = [
  'Salary, November 2026',
  'Miete für das Büro in München, Nebenkosten inbegriffen',
  'ノートパソコンの修理代（十一月分）、田中様',
  'مكافأة شهر نوفمبر',
  'Гонорар за перевод документации',
  'Audit of the second quarter, with travel costs, two nights in a hotel and the workshop that followed it; agreed with the board on 3 October and confirmed by mail 🎉',
]

export function line(number: number, more: Partial<PayoutLine> = {}): PayoutLine {
  return {
    line: number,
    id: `invoice-${String(number).padStart(4, '0')}`,
    to: `0x${hashOf(number + 1_000_000).slice(2, 42)}`,
    note: NOTES[number % NOTES.length],
    amount: 1_250_000_000n,
    money: USDC,
    status: 'paid',
    ...more,
  }
}

/** A line with its transaction: four in a block, a block each two seconds. */
export function landed(number: number, more: Partial<PayoutLine> = {}): PayoutLine {
  return line(number, {
    nonce: number,
    hash: hashOf(number) as Hash,
    block: 38_000_000n + BigInt(number >> 2),
    time: new Date(BEGUN_MS + (number >> 2) * 2_000).toISOString(),
    feeWei: 1_234_567_891_234n + BigInt(number),
    sharedBy: 1,
    ...more,
  })
}

/** Forty lines: three tokens, names, three lines in one transaction, and each way not to be paid. */
export function someReport(more: Partial<PayoutReport> = {}): PayoutReport {
  const lines = Array.from({ length: 40 }, (_, index) => {
    const number = index + 2
    if (index % 5 === 3)
      return landed(number, { money: ETH, amount: 50_000_000_000_000_000n * BigInt(number) })
    if (index % 7 === 4) return landed(number, { name: `person${number}.eth`, amount: 999_990_000n })
    return landed(number, { amount: 1_250_000_000n + BigInt(number) * 10_000n })
  })
  const pack = { hash: hashOf(500) as Hash, block: 38_000_011n, nonce: 500, sharedBy: 3 }
  for (const index of [30, 31, 32])
    lines[index] = {
      ...(lines[index] as PayoutLine),
      ...pack,
      feeWei: index === 30 ? 334n * 10n ** 9n : 333n * 10n ** 9n,
    }
  lines[5] = landed(7, {
    status: 'reverted',
    error: 'REVERTED: It executed and reverted: Blacklistable: account is blacklisted.',
  })
  lines[9] = line(11, {
    status: 'failed',
    error: 'PREPARE_REVERTED: The gas estimate reverts: ERC20: transfer amount exceeds balance.',
    amount: 8_000_000_000_000n,
  })
  lines[10] = line(12, {
    status: 'failed',
    note: undefined,
    name: 'anna.eth',
    error: 'STARVED: The account cannot pay 0.5 ETH.',
    money: ETH,
    amount: 5n * 10n ** 17n,
  })
  lines[12] = line(14, { status: 'cancelled', error: 'CANCELLED: It was cancelled.', money: FALSE_USDC })
  lines[20] = line(22, {
    status: 'unresolved',
    nonce: 22,
    hash: hashOf(22) as Hash,
    error: 'UNRESOLVED: No endpoint shows the transaction that used its nonce.',
  })
  lines[38] = line(40, { status: 'open', nonce: 40, hash: hashOf(40) as Hash })
  lines[39] = line(41, { status: 'open' })
  return { file: 'payroll-november.csv', chain: CHAIN, account: ACCOUNT, begunAt: BEGUN_AT, lines, ...more }
}

/** As many lines as the largest file, with every thousandth not paid. */
export function largeReport(count = 200_000): PayoutReport {
  const lines = Array.from({ length: count }, (_, index) => {
    const number = index + 2
    if (index % 1_000 === 999)
      return line(number, { status: 'failed', error: 'STARVED: The account cannot pay 0.5 ETH.' })
    return landed(number, { amount: BigInt(number) * 10_000n })
  })
  return { ...someReport(), file: 'airdrop.csv', lines }
}
