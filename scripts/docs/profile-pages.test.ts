// Tests that the pages of profiles name no gateway and contain the words that bind every gateway.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRequirements } from '../../conformance/checks/requirements.ts'
import { forEveryone, PUBLIC_PROFILES, profilePage, profilesIndex, profilesJson } from './requirements.ts'

test("a profile's sentence omits only the parts about Waybill", () => {
  assert.equal(forEveryone('It gets a 4xx (Waybill: 404 (see below)) at once.'), 'It gets a 4xx at once.')
  assert.equal(forEveryone('Closed within 5 s (10 s at night).'), 'Closed within 5 s (10 s at night).')
})

test('the pages and data of profiles do not name Waybill', () => {
  const requirements = readRequirements()
  const texts = [
    ...PUBLIC_PROFILES.map((name) => profilePage(name, requirements)),
    profilesIndex(requirements),
    profilesJson(requirements, '5.0'),
  ]
  for (const text of texts) assert.doesNotMatch(text, /\bWaybill\b/)
})
