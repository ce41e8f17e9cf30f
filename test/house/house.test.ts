import { describe, expect, it } from 'vitest'
import {
  elapsedTimeIsMonotonic,
  filesAreShort,
  importsPointDownwards,
  nodeModulesAreNamedAsSuch,
  nothingButTheCliKnowsTheDevnet,
  nothingIsExportedAsDefault,
  nothingIsLeftForLater,
  partsOfTheSenderPointDownwards,
  pureParts,
  type Rule,
  reachable,
  servicesKnowInterfacesOnly,
  testsDoNotEvade,
  theRootRunsAnywhere,
  timeAndChanceAreInjected,
} from './rules.js'
import { parseSource, readSources } from './sources.js'

const sources = readSources('src', 'test', 'bench')

/** Small sources that break a rule, each with the message of the rule, and sources that must pass. */
type Samples = {
  readonly broken: readonly (readonly [path: string, text: string, said: string])[]
  readonly fine: readonly (readonly [path: string, text: string])[]
}

function house(promise: string, rule: Rule, samples: Samples): void {
  describe(promise, () => {
    it('holds in this repository', () => {
      expect(rule(sources)).toEqual([])
    })
    it.each(samples.broken.map(([path, text, said]) => ({ path, text, said })))(
      'finds: $path $said',
      ({ path, text, said }) => {
        expect(rule([parseSource(path, text)]).join('\n')).toContain(said)
      },
    )
    it.each(samples.fine.map(([path, text]) => ({ path, text })))(
      'lets $path pass (%#)',
      ({ path, text }) => {
        expect(rule([parseSource(path, text)])).toEqual([])
      },
    )
  })
}

house('values are imported downwards only, and not from siblings', importsPointDownwards, {
  broken: [
    ['src/ledger/a.ts', "import { a } from '../rpc/a.js'", 'src/ledger/a.ts:1 imports src/rpc/a.ts'],
    ['src/rpc/a.ts', "export { a } from '../store/store.js'", 'imports src/store/store.ts'],
    ['src/rpc/b/c.ts', "import { type x, a } from '../../sender/a.js'", 'imports src/sender/a.ts'],
    ['src/tracker/a.ts', "const a = await import('../allocator/lane.js')", 'imports src/allocator/lane.ts'],
    ['src/clock.ts', "import { a } from './ledger/a.js'", 'imports src/ledger/a.ts'],
    ['src/viem/a.ts', "import { a } from '../cli/a.js'", 'imports src/cli/a.ts'],
    ['src/sender/a.ts', "export * from '../index.js'", 'imports src/index.ts'],
    ['src/sender/a.ts', "import '../devnet/index.js'", 'imports src/devnet/index.ts'],
    ['src/devnet/a.ts', "import { a } from '../rpc/port.js'", 'imports src/rpc/port.ts'],
    ['src/viem/b.ts', "import { a } from '../signer/a.js'", 'imports src/signer/a.ts'],
    ['src/recorder/a.ts', "import { a } from '../cli/a.js'", 'imports src/cli/a.ts'],
    ['src/helpers/a.ts', '', 'no layer is known for "helpers"'],
  ],
  fine: [
    ['src/ledger/a.ts', "import { a } from '../errors/base.js'"],
    ['src/errors/a.ts', "import { a } from '../clock.js'"],
    ['src/rpc/a.ts', "import type { a } from '../sender/a.js'"],
    ['src/rpc/a.ts', "import { type a } from '../sender/a.js'\nexport { type b } from '../store/b.js'"],
    ['src/types.ts', "export type a = import('./store/store.js').Store"],
    ['src/cli/demo/a.ts', "import { a } from '../../index.js'\nimport { b } from '../../devnet/index.js'"],
    ['src/cli/report/a.ts', "import { a } from '../../recorder/schema.js'"],
    ['src/devnet/serve/a.ts', "import { a } from '../../errors/base.js'\nimport { b } from '../chain/b.js'"],
    ['src/rpc/a.test.ts', "import { a } from '../sender/a.js'"],
  ],
})

house('the folders of the sender are imported downwards only', partsOfTheSenderPointDownwards, {
  broken: [
    ['src/sender/signing/a.ts', "import { a } from '../intake/a.js'", 'imports src/sender/intake/a.ts'],
    ['src/sender/engine/a.ts', "import { a } from '../lane/a.js'", 'imports src/sender/lane/a.ts'],
    ['src/sender/helpers/a.ts', '', 'no layer of the sender is known for "helpers"'],
  ],
  fine: [
    ['src/sender/intake/a.ts', "import { a } from '../signing/a.js'"],
    ['src/sender/signing/a.ts', "import type { a } from '../intake/a.js'"],
    ['src/sender/nodes/a.ts', "import { a } from '../looks.js'"],
    ['src/sender/sender.ts', "import { a } from './lane/open.js'"],
  ],
})

house(
  'of the production code only the command line knows the devnet, types included',
  nothingButTheCliKnowsTheDevnet,
  {
    broken: [
      ['src/sender/a.ts', "import type { Devnet } from '../devnet/index.js'", 'imports src/devnet/index.ts'],
    ],
    fine: [['src/cli/a.ts', "import type { Devnet } from '../devnet/index.js'"]],
  },
)

house('services import the port and the store, never an implementation', servicesKnowInterfacesOnly, {
  broken: [
    [
      'src/sender/a.ts',
      "import { createHttpPort } from '../rpc/ports/http.js'",
      'imports src/rpc/ports/http.ts',
    ],
    ['src/allocator/a.ts', "import { memoryStore } from '../store/memory.js'", 'imports src/store/memory.ts'],
  ],
  fine: [
    [
      'src/sender/a.ts',
      "import { call } from '../rpc/port.js'\nimport { laneName } from '../store/store.js'",
    ],
    ['src/tracker/a.ts', "import type { HttpPortOptions } from '../rpc/ports/http.js'"],
  ],
})

house('time and randomness come only from the clock', timeAndChanceAreInjected, {
  broken: [
    ['src/sender/a.ts', 'const now = Date.now()', 'src/sender/a.ts:1 uses Date.now'],
    ['src/sender/a.ts', 'const now = globalThis.Date.now', 'uses Date.now'],
    ['src/rpc/a.ts', '\nconst r = Math.random', 'src/rpc/a.ts:2 uses Math.random'],
    ['src/rpc/a.ts', 'const now = new Date()', 'uses new Date()'],
    ['src/rpc/a.ts', 'const now = performance.now()', 'uses performance.now'],
    ['src/tracker/a.ts', 'setTimeout(f, 1)', 'uses setTimeout'],
    ['src/tracker/a.ts', 'globalThis.setInterval(f, 1)', 'uses setInterval'],
    ['src/devnet/a.ts', 'const wait = setImmediate', 'uses setImmediate'],
    ['src/devnet/a.ts', "import { setTimeout } from 'node:timers/promises'", 'uses setTimeout'],
  ],
  fine: [
    ['src/clock.ts', 'setTimeout(f, Date.now())'],
    ['src/sender/a.ts', 'clock.setTimer(f, clock.now()) // not setTimeout, not Date.now'],
    ['src/sender/a.ts', "const text = 'setTimeout'; const at = new Date(atMs); socket.setTimeout(5)"],
    ['src/sender/a.test.ts', 'const now = Date.now()'],
  ],
})

house('elapsed time is not measured by the wall clock', elapsedTimeIsMonotonic, {
  broken: [
    ['src/sender/a.ts', '\nconst sinceMs = clock.wallNow()', 'src/sender/a.ts:2 looks at the wall clock'],
    ['src/tracker/a.ts', 'const now = options.clock.wallNow', 'looks at the wall clock'],
  ],
  fine: [
    ['src/clock.ts', 'const wallMs = clock.wallNow()'],
    ['src/sender/a.ts', 'const sinceMs = clock.now()'],
    ['src/sender/a.test.ts', 'const atMs = lane.clock.wallNow()'],
  ],
})

house('the ledger and the delivery are pure', pureParts, {
  broken: [
    ['src/ledger/a.ts', "import { keccak256 } from 'viem'", 'imports viem'],
    ['src/ledger/a.ts', "import { systemClock } from '../clock.js'", 'imports src/clock.ts'],
    ['src/ledger/a.ts', 'async function f() {}', 'waits'],
    ['src/ledger/a.ts', "import { a } from '../delivery/a.js'", 'imports src/delivery/a.ts'],
    ['src/delivery/a.ts', "import { b } from '../rpc/b.js'", 'imports src/rpc/b.ts'],
    ['src/delivery/a.ts', 'const f = async () => {}', 'waits'],
  ],
  fine: [
    [
      'src/ledger/a.ts',
      "import type { Hash } from 'viem'\nimport { a } from './slot.js'\nimport { b } from '../errors/b.js'",
    ],
    [
      'src/delivery/a.ts',
      "import type { SendOutcome } from '../rpc/outcome.js'\nimport { NonceMap } from '../ledger/nonceMap.js'",
    ],
  ],
})

house(
  'the root runs on Node, Bun, Deno and workers: without modules and globals of one of them',
  theRootRunsAnywhere,
  {
    broken: [
      ['src/index.ts', "import { readFileSync } from 'node:fs'", 'imports node:fs'],
      ['src/index.ts', "const a = () => import('ws')", 'imports ws'],
      ['src/index.ts', 'export const a = process.env.A', 'uses process'],
      ['src/index.ts', 'export const a = Buffer.from([])', 'uses Buffer'],
    ],
    fine: [
      [
        'src/index.ts',
        "import { a } from 'viem/actions'\nimport { Mutex } from 'async-mutex'\nimport p from 'p-queue'",
      ],
      ['src/index.ts', "import type { Server } from 'node:http'\nexport const a = { process: 1 }.process"],
      ['src/devnet/index.ts', "import { readFileSync } from 'node:fs'"],
    ],
  },
)

house('modules of Node are imported with their scheme', nodeModulesAreNamedAsSuch, {
  broken: [['src/cli/a.ts', "import { join } from 'path'", 'imports path without node:']],
  fine: [['src/cli/a.ts', "import { join } from 'node:path'"]],
})

house('no file has a default export', nothingIsExportedAsDefault, {
  broken: [
    ['src/a.ts', 'export default function f() {}', 'src/a.ts:1 exports a default'],
    ['src/a.ts', 'const a = 1\nexport default a', 'src/a.ts:2 exports a default'],
    ['src/a.ts', "export { a as default } from './b.js'", 'exports a default'],
  ],
  fine: [
    [
      'src/a.ts',
      "import a from 'b'\nexport function f() {\n  switch (a) {\n    default:\n      return 1\n  }\n}",
    ],
  ],
})

house('a file has 400 lines at most', filesAreShort, {
  broken: [['src/a.ts', 'a()\n'.repeat(401), 'src/a.ts has 401 lines']],
  fine: [['src/a.ts', 'a()\n'.repeat(400)]],
})

house('no leftover markers remain', nothingIsLeftForLater, {
  broken: [
    ['src/a.ts', `a()\n// ${'TO'}DO: more`, 'src/a.ts:2'],
    ['test/a.ts', `/* ${'FIX'}ME */`, 'test/a.ts:1'],
  ],
  fine: [['src/a.ts', '// What is to do comes from the queue.']],
})

house('no test is exclusive, expected to fail or retried', testsDoNotEvade, {
  broken: [
    ['test/a.test.ts', `it.${'on'}ly('works', () => {})`, 'test/a.test.ts:1'],
    ['test/a.test.ts', `it('works', { re${'try'}: 2 }, () => {})`, 'test/a.test.ts:1'],
  ],
  fine: [['test/a.test.ts', "it('is tried once', () => {})\nit.each([1])('%d', () => {})"]],
})

describe('the rules cover the whole code', () => {
  const paths = new Set(sources.map(({ path }) => path))

  it('reads production code and tests alike', () => {
    expect(paths).toContain('src/sender/sender.ts')
    expect(paths).toContain('src/devnet/index.ts')
    expect(paths).toContain('test/house/house.test.ts')
  })

  it('follows the root through every layer', () => {
    const reached = reachable(new Map(sources.map((source) => [source.path, source])), 'src/index.ts')
    const parts = new Set([...reached].map((path) => path.split('/')[1]))
    for (const part of ['errors', 'ledger', 'rpc', 'store', 'allocator', 'tracker', 'sender', 'viem']) {
      expect(parts).toContain(part)
    }
    expect(parts).not.toContain('devnet')
    expect([...reached].filter((path) => !paths.has(path))).toEqual([])
  })
})
