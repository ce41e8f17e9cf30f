import { describe, expect, it } from 'vitest'
import { house, sources } from './harness.js'
import {
  elapsedTimeIsMonotonic,
  filesAreShort,
  loadedAtOnce,
  nodeModulesAreNamedAsSuch,
  nothingButTheCliKnowsTheDevnet,
  nothingIsExportedAsDefault,
  nothingIsLeftForLater,
  pureParts,
  ROOT_ENTRY,
  reachable,
  SHELL,
  servicesKnowInterfacesOnly,
  testsDoNotEvade,
  theDevnetStandsApart,
  theRootLoadsTheEngineLater,
  theRootRunsAnywhere,
  timeAndChanceAreInjected,
} from './rules.js'

house(
  'of the production code only the command line knows the devnet, types included',
  nothingButTheCliKnowsTheDevnet,
  {
    broken: [
      [
        { 'src/lane/a.ts': "import type { Devnet } from '../../tools/devnet/index.js'" },
        'imports tools/devnet/index.ts',
      ],
      [
        { 'tools/report/a.ts': "import type { Devnet } from '../devnet/index.js'" },
        'imports tools/devnet/index.ts',
      ],
    ],
    fine: [{ 'tools/cli/a.ts': "import type { Devnet } from '../devnet/index.js'" }],
  },
)

house('the devnet uses only the lowest folders of the library', theDevnetStandsApart, {
  broken: [
    [{ 'tools/devnet/a.ts': "import type { A } from '../../src/rpc/port.js'" }, 'imports src/rpc/port.ts'],
    [{ 'tools/devnet/a.ts': "import { a } from '../cli/a.js'" }, 'imports tools/cli/a.ts'],
  ],
  fine: [
    {
      'tools/devnet/serve/a.ts':
        "import { a } from '../../../src/errors/base.js'\nimport { b } from '../chain/b.js'",
    },
  ],
})

house('services import the port and the store, never an implementation', servicesKnowInterfacesOnly, {
  broken: [
    [
      { 'src/lane/a.ts': "import { createHttpPort } from '../rpc/transports/http.js'" },
      'imports src/rpc/transports/http.ts',
    ],
    [
      { 'src/allocator/a.ts': "import { memoryStore } from '../store/memory.js'" },
      'imports src/store/memory.ts',
    ],
  ],
  fine: [
    {
      'src/lane/a.ts': "import { call } from '../rpc/port.js'\nimport { laneName } from '../types/store.js'",
    },
    { 'src/chain/a.ts': "import type { HttpPortOptions } from '../rpc/transports/http.js'" },
  ],
})

house('time and randomness come only from the clock', timeAndChanceAreInjected, {
  broken: [
    [{ 'src/lane/a.ts': 'const now = Date.now()' }, 'src/lane/a.ts:1 uses Date.now'],
    [{ 'src/lane/a.ts': 'const now = globalThis.Date.now' }, 'uses Date.now'],
    [{ 'src/rpc/a.ts': '\nconst r = Math.random' }, 'src/rpc/a.ts:2 uses Math.random'],
    [{ 'src/rpc/a.ts': 'const now = new Date()' }, 'uses new Date()'],
    [{ 'src/rpc/a.ts': 'const now = performance.now()' }, 'uses performance.now'],
    [{ 'src/chain/a.ts': 'setTimeout(f, 1)' }, 'uses setTimeout'],
    [{ 'src/chain/a.ts': 'globalThis.setInterval(f, 1)' }, 'uses setInterval'],
    [{ 'tools/devnet/a.ts': 'const wait = setImmediate' }, 'uses setImmediate'],
    [{ 'tools/devnet/a.ts': "import { setTimeout } from 'node:timers/promises'" }, 'uses setTimeout'],
  ],
  fine: [
    { 'src/platform/clock.ts': 'setTimeout(f, Date.now())' },
    { 'src/lane/a.ts': 'clock.setTimer(f, clock.now()) // not setTimeout, not Date.now' },
    { 'src/lane/a.ts': "const text = 'setTimeout'; const at = new Date(atMs); socket.setTimeout(5)" },
    { 'src/lane/a.test.ts': 'const now = Date.now()' },
  ],
})

house('elapsed time is not measured by the wall clock', elapsedTimeIsMonotonic, {
  broken: [
    [{ 'src/lane/a.ts': '\nconst sinceMs = clock.wallNow()' }, 'src/lane/a.ts:2 looks at the wall clock'],
    [{ 'src/chain/a.ts': 'const now = options.clock.wallNow' }, 'looks at the wall clock'],
  ],
  fine: [
    { 'src/platform/clock.ts': 'const wallMs = clock.wallNow()' },
    { 'src/lane/a.ts': 'const sinceMs = clock.now()' },
    { 'src/lane/a.test.ts': 'const atMs = lane.clock.wallNow()' },
  ],
})

house('the ledger and the delivery are pure', pureParts, {
  broken: [
    [{ 'src/ledger/a.ts': "import { keccak256 } from 'viem'" }, 'imports viem'],
    [
      { 'src/ledger/a.ts': "import { systemClock } from '../platform/clock.js'" },
      'imports src/platform/clock.ts',
    ],
    [{ 'src/ledger/a.ts': 'async function f() {}' }, 'waits'],
    [{ 'src/ledger/a.ts': "import { a } from '../delivery/a.js'" }, 'imports src/delivery/a.ts'],
    [{ 'src/delivery/a.ts': "import { b } from '../rpc/b.js'" }, 'imports src/rpc/b.ts'],
    [{ 'src/delivery/a.ts': 'const f = async () => {}' }, 'waits'],
  ],
  fine: [
    {
      'src/ledger/a.ts':
        "import type { Hash } from 'viem'\nimport { a } from './slot.js'\nimport { b } from '../errors/b.js'",
    },
    {
      'src/delivery/a.ts':
        "import type { SendOutcome } from '../rpc/outcome.js'\nimport { NonceMap } from '../ledger/nonceMap.js'",
    },
  ],
})

house(
  'the root runs on Node, Bun, Deno and workers: without modules and globals of one of them',
  theRootRunsAnywhere,
  {
    broken: [
      [{ 'src/index.ts': "import { readFileSync } from 'node:fs'" }, 'imports node:fs'],
      [{ 'src/index.ts': "const a = () => import('ws')" }, 'imports ws'],
      [{ 'src/index.ts': 'export const a = process.env.A' }, 'uses process'],
      [{ 'src/index.ts': 'export const a = Buffer.from([])' }, 'uses Buffer'],
    ],
    fine: [
      {
        'src/index.ts':
          "import { a } from 'viem/actions'\nimport { Mutex } from 'async-mutex'\nimport p from 'p-queue'",
      },
      { 'src/index.ts': "import type { Server } from 'node:http'\nexport const a = { process: 1 }.process" },
      { 'tools/devnet/index.ts': "import { readFileSync } from 'node:fs'" },
    ],
  },
)

house('an import of the root loads the engine only through `import()`', theRootLoadsTheEngineLater, {
  broken: [
    [
      { 'src/index.ts': "export { openLane } from './ownership/open.js'" },
      'src/index.ts:1 imports src/ownership/open.ts statically',
    ],
    [
      {
        'src/index.ts': "import { a } from './api/a.js'",
        'src/api/a.ts': "\nimport { createEngine } from '../lane/engine/engine.js'",
      },
      'src/api/a.ts:2 imports src/lane/engine/engine.ts statically',
    ],
    [
      {
        'src/index.ts': "import { a } from './ledger/nonceMap.js'",
        'src/ledger/nonceMap.ts': "import { a } from './book.js'",
      },
      'src/ledger/nonceMap.ts:1 imports src/ledger/book.ts statically',
    ],
  ],
  fine: [
    {
      'src/index.ts': "import { a } from './api/a.js'",
      'src/api/a.ts': "export const load = () => import('./runtime.js')",
      'src/api/runtime.ts': "import { createEngine } from '../lane/engine/engine.js'",
    },
    { 'src/index.ts': "import type { Engine } from './lane/engine/engine.js'" },
    { 'src/index.ts': "export { a } from './allocator/sources.js'" },
  ],
})

house('modules of Node are imported with their scheme', nodeModulesAreNamedAsSuch, {
  broken: [[{ 'tools/cli/a.ts': "import { join } from 'path'" }, 'imports path without node:']],
  fine: [{ 'tools/cli/a.ts': "import { join } from 'node:path'" }],
})

house('no file has a default export', nothingIsExportedAsDefault, {
  broken: [
    [{ 'src/a.ts': 'export default function f() {}' }, 'src/a.ts:1 exports a default'],
    [{ 'src/a.ts': 'const a = 1\nexport default a' }, 'src/a.ts:2 exports a default'],
    [{ 'src/a.ts': "export { a as default } from './b.js'" }, 'exports a default'],
  ],
  fine: [
    {
      'src/a.ts':
        "import a from 'b'\nexport function f() {\n  switch (a) {\n    default:\n      return 1\n  }\n}",
    },
  ],
})

house('a file has 400 lines at most', filesAreShort, {
  broken: [[{ 'src/a.ts': 'a()\n'.repeat(401) }, 'src/a.ts has 401 lines']],
  fine: [{ 'src/a.ts': 'a()\n'.repeat(400) }],
})

house('no leftover markers remain', nothingIsLeftForLater, {
  broken: [
    [{ 'src/a.ts': `a()\n// ${'TO'}DO: more` }, 'src/a.ts:2'],
    [{ 'test/a.ts': `/* ${'FIX'}ME */` }, 'test/a.ts:1'],
  ],
  fine: [{ 'src/a.ts': '// What is to do comes from the queue.' }],
})

house('no test is exclusive, expected to fail or retried', testsDoNotEvade, {
  broken: [
    [{ 'test/a.test.ts': `it.${'on'}ly('works', () => {})` }, 'test/a.test.ts:1'],
    [{ 'test/a.test.ts': `it('works', { re${'try'}: 2 }, () => {})` }, 'test/a.test.ts:1'],
  ],
  fine: [{ 'test/a.test.ts': "it('is tried once', () => {})\nit.each([1])('%d', () => {})" }],
})

describe('the rules cover the whole code', () => {
  const paths = new Set(sources.map(({ path }) => path))

  it('reads production code and tests alike', () => {
    expect(paths).toContain('src/api/sender/sender.ts')
    expect(paths).toContain('tools/devnet/index.ts')
    expect(paths).toContain('test/house/house.test.ts')
  })

  const byPath = new Map(sources.map((source) => [source.path, source]))

  it('each file of the shell is loaded by an import of the root', () => {
    const loaded = loadedAtOnce(byPath, ROOT_ENTRY)
    expect([...SHELL].filter((path) => !loaded.has(path))).toEqual([])
  })

  it('follows the root through every layer', () => {
    const reached = reachable(byPath, ROOT_ENTRY)
    const parts = new Set([...reached].map((path) => path.split('/')[1]))
    for (const part of [
      'errors',
      'ledger',
      'rpc',
      'store',
      'allocator',
      'chain',
      'lane',
      'ownership',
      'api',
      'viem',
    ]) {
      expect(parts).toContain(part)
    }
    expect(parts).not.toContain('devnet')
    expect([...reached].filter((path) => !paths.has(path))).toEqual([])
  })
})
