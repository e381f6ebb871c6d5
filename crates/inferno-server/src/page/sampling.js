// Sampling settings: presets in plain words, and the fields behind them.

import { read } from './store.js';

/** Fields that each preset sets; all others of these are the model's defaults. */
const PRESETS = {
  default: {},
  precise: { temperature: 0.2, top_p: 0.9 },
  balanced: { temperature: 0.7, top_p: 0.95 },
  creative: { temperature: 1.1, top_p: 0.98, min_p: 0.05 },
};

/** Fields that belong to presets. */
const PRESET_FIELDS = ['temperature', 'top_p', 'top_k', 'min_p'];

const fields = [...document.querySelectorAll('#sampling input')];
const presets = [...document.querySelectorAll('#presets input')];
const custom = document.getElementById('custom');

/** Initializes the fields from storage; `onChange` receives the fields that are set. */
export function beginSampling(onChange) {
  const changed = () => {
    showPreset();
    onChange(samplingFields());
  };
  fill(read('sampling', {}));
  for (const field of fields) field.addEventListener('change', changed);
  for (const preset of presets) {
    preset.addEventListener('change', () => {
      fill({ ...samplingFields(), ...Object.fromEntries(PRESET_FIELDS.map((name) => [name, null])), ...PRESETS[preset.value] });
      changed();
    });
  }
  document.getElementById('reset-settings').addEventListener('click', () => {
    fill({});
    changed();
  });
  showPreset();
}

function fill(values) {
  for (const field of fields) field.value = typeof values?.[field.name] === 'number' ? values[field.name] : '';
}

/** Checks the preset that the fields match; `Custom` is only offered if there is none. */
function showPreset() {
  const values = samplingFields();
  const isShown = ({ value }) => value in PRESETS && PRESET_FIELDS.every((name) => values[name] === PRESETS[value][name]);
  const shown = presets.find(isShown) ?? custom;
  shown.checked = true;
  custom.parentElement.hidden = shown !== custom;
}

/** Shows the model's defaults. */
export function showSamplingDefaults(defaults) {
  for (const field of fields) {
    if (field.name in defaults) field.placeholder = String(defaults[field.name]);
  }
}

/** Clears invalid values: they are not sent, so they are not shown either. */
export function clearInvalid() {
  for (const field of fields) if (!field.validity.valid) field.value = '';
}

/** The fields that are set, as numbers. */
export function samplingFields() {
  const filled = fields.filter((field) => field.value !== '' && field.validity.valid);
  return Object.fromEntries(filled.map((field) => [field.name, field.valueAsNumber]));
}
