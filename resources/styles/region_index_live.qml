<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology|Rendering" version="3.34.0" hasScaleBasedVisibilityFlag="0" autoRefreshMode="ReloadData" autoRefreshTime="5000">
  <renderer-v2 type="categorizedSymbol" attr="status" symbollevels="0" enableorderby="0" forceraster="0" referencescale="-1">
    <categories>
      <category render="true" symbol="0" value="waiting" label="waiting" type="string"/>
      <category render="true" symbol="1" value="running" label="running" type="string"/>
      <category render="true" symbol="2" value="done" label="done" type="string"/>
      <category render="true" symbol="3" value="kept" label="kept" type="string"/>
      <category render="true" symbol="4" value="failed" label="failed" type="string"/>
      <category render="true" symbol="5" value="outside" label="outside" type="string"/>
      <category render="true" symbol="6" value="" label="other" type="string"/>
    </categories>
    <symbols>
      <symbol type="fill" name="0" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="138,144,153,50"/>
            <Option type="QString" name="style" value="solid"/>
            <Option type="QString" name="outline_color" value="138,144,153,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="fill" name="1" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="230,159,0,110"/>
            <Option type="QString" name="style" value="solid"/>
            <Option type="QString" name="outline_color" value="230,159,0,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="fill" name="2" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="0,158,115,90"/>
            <Option type="QString" name="style" value="solid"/>
            <Option type="QString" name="outline_color" value="0,158,115,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="fill" name="3" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="86,180,233,90"/>
            <Option type="QString" name="style" value="solid"/>
            <Option type="QString" name="outline_color" value="86,180,233,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="fill" name="4" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="213,94,0,140"/>
            <Option type="QString" name="style" value="solid"/>
            <Option type="QString" name="outline_color" value="213,94,0,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="fill" name="5" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="138,144,153,0"/>
            <Option type="QString" name="style" value="no"/>
            <Option type="QString" name="outline_color" value="138,144,153,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="dash"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="fill" name="6" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleFill" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="color" value="255,255,255,0"/>
            <Option type="QString" name="style" value="no"/>
            <Option type="QString" name="outline_color" value="255,255,255,255"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="joinstyle" value="miter"/>
          </Option>
        </layer>
      </symbol>
    </symbols>
    <rotation/>
    <sizescale/>
  </renderer-v2>
  <blendMode>0</blendMode>
  <featureBlendMode>0</featureBlendMode>
  <layerGeometryType>2</layerGeometryType>
</qgis>
