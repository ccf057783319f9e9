<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>
<qgis styleCategories="Symbology" version="3.34.0">
  <renderer-v2 type="categorizedSymbol" attr="status" symbollevels="1" enableorderby="0" forceraster="0" referencescale="-1">
    <categories>
      <category render="true" symbol="0" value="cut off" label="cut off" type="string"/>
      <category render="true" symbol="1" value="interrupted" label="interrupted" type="string"/>
      <category render="true" symbol="2" value="longer" label="longer" type="string"/>
      <category render="true" symbol="3" value="never connected" label="never connected" type="string"/>
      <category render="true" symbol="4" value="no road near" label="no road near" type="string"/>
      <category render="true" symbol="5" value="newly reachable" label="newly reachable" type="string"/>
      <category render="true" symbol="6" value="reachable" label="reachable" type="string"/>
    </categories>
    <symbols>
      <symbol type="marker" name="0" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="213,94,0,255"/>
            <Option type="QString" name="size" value="3.4"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="marker" name="1" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="230,159,0,255"/>
            <Option type="QString" name="size" value="3.4"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="marker" name="2" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="240,228,66,255"/>
            <Option type="QString" name="size" value="3"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="marker" name="3" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="138,144,153,255"/>
            <Option type="QString" name="size" value="2.6"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="marker" name="4" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="255,255,255,255"/>
            <Option type="QString" name="size" value="2.6"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="marker" name="5" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="0,114,178,255"/>
            <Option type="QString" name="size" value="2.6"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
      <symbol type="marker" name="6" alpha="1" clip_to_extent="1" force_rhr="0">
        <layer class="SimpleMarker" enabled="1" locked="0" pass="0">
          <Option type="Map">
            <Option type="QString" name="name" value="circle"/>
            <Option type="QString" name="color" value="0,158,115,255"/>
            <Option type="QString" name="size" value="2.6"/>
            <Option type="QString" name="size_unit" value="MM"/>
            <Option type="QString" name="outline_color" value="31,41,51,255"/>
            <Option type="QString" name="outline_style" value="solid"/>
            <Option type="QString" name="outline_width" value="0.4"/>
            <Option type="QString" name="outline_width_unit" value="MM"/>
          </Option>
        </layer>
      </symbol>
    </symbols>
    <rotation/>
    <sizescale/>
  </renderer-v2>
  <blendMode>0</blendMode>
  <featureBlendMode>0</featureBlendMode>
  <layerGeometryType>0</layerGeometryType>
</qgis>
