<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology" version="3.34.0">
  <renderer-v2 type="categorizedSymbol" attr="replace(lower(trim(coalesce(attribute(@feature, 'road_class'), attribute(@feature, 'highway')))), '_link', '')" symbollevels="1" enableorderby="0" forceraster="0" referencescale="-1">
    <categories>
      <category symbol="0" value="motorway" label="Motorway" render="true" type="string"/>
      <category symbol="1" value="trunk" label="Trunk road" render="true" type="string"/>
      <category symbol="2" value="primary" label="Primary road" render="true" type="string"/>
      <category symbol="3" value="secondary" label="Secondary road" render="true" type="string"/>
      <category symbol="4" value="tertiary" label="Tertiary road" render="true" type="string"/>
      <category symbol="5" value="residential" label="Residential road" render="true" type="string"/>
      <category symbol="6" value="unclassified" label="Unclassified road" render="true" type="string"/>
      <category symbol="7" value="service" label="Service road" render="true" type="string"/>
      <category symbol="8" value="track" label="Track" render="true" type="string"/>
      <category symbol="9" value="path" label="Path" render="true" type="string"/>
      <category symbol="10" value="" label="Other class, or none" render="true" type="string"/>
    </categories>
    <symbols>
      <symbol type="line" name="0" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="1.44"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="11">
          <Option type="Map">
            <Option type="QString" name="line_color" value="226,92,112,255"/>
            <Option type="QString" name="line_width" value="1"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="1" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="1.34"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="10">
          <Option type="Map">
            <Option type="QString" name="line_color" value="242,150,110,255"/>
            <Option type="QString" name="line_width" value="0.9"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="2" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="1.24"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="9">
          <Option type="Map">
            <Option type="QString" name="line_color" value="252,200,110,255"/>
            <Option type="QString" name="line_width" value="0.8"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="3" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="1.14"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="8">
          <Option type="Map">
            <Option type="QString" name="line_color" value="247,238,130,255"/>
            <Option type="QString" name="line_width" value="0.7"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="4" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="1.06"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="7">
          <Option type="Map">
            <Option type="QString" name="line_color" value="255,255,255,255"/>
            <Option type="QString" name="line_width" value="0.62"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="5" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="0.9"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="6">
          <Option type="Map">
            <Option type="QString" name="line_color" value="255,255,255,255"/>
            <Option type="QString" name="line_width" value="0.46"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="6" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="0.9"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="5">
          <Option type="Map">
            <Option type="QString" name="line_color" value="255,255,255,255"/>
            <Option type="QString" name="line_width" value="0.46"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="7" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="0.78"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="4">
          <Option type="Map">
            <Option type="QString" name="line_color" value="225,225,225,255"/>
            <Option type="QString" name="line_width" value="0.34"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="8" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="0.78"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="3">
          <Option type="Map">
            <Option type="QString" name="line_color" value="190,140,80,255"/>
            <Option type="QString" name="line_width" value="0.34"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="flat"/>
            <Option type="QString" name="joinstyle" value="round"/>
            <Option type="QString" name="use_custom_dash" value="1"/>
            <Option type="QString" name="customdash" value="1.6;0.7"/>
            <Option type="QString" name="customdash_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="9" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="0.7"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="2">
          <Option type="Map">
            <Option type="QString" name="line_color" value="240,130,110,255"/>
            <Option type="QString" name="line_width" value="0.26"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="flat"/>
            <Option type="QString" name="joinstyle" value="round"/>
            <Option type="QString" name="use_custom_dash" value="1"/>
            <Option type="QString" name="customdash" value="0.8;0.6"/>
            <Option type="QString" name="customdash_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="line" name="10" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleLine" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="line_color" value="40,40,40,255"/>
            <Option type="QString" name="line_width" value="0.9"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
        <layer class="SimpleLine" enabled="1" locked="0" pass="1">
          <Option type="Map">
            <Option type="QString" name="line_color" value="90,200,215,255"/>
            <Option type="QString" name="line_width" value="0.46"/>
            <Option type="QString" name="line_width_unit" value="MM"/>
            <Option type="QString" name="capstyle" value="round"/>
            <Option type="QString" name="joinstyle" value="round"/>
          </Option>
        </layer>
      </symbol>
    </symbols>
    <rotation/>
    <sizescale/>
  </renderer-v2>
  <blendMode>0</blendMode>
  <featureBlendMode>0</featureBlendMode>
  <layerGeometryType>1</layerGeometryType>
</qgis>
